/* What the page does in the browser without asking the server: sending files, and keys. */
"use strict";
const studio = {
  /* Send the first file of an input; its events "refused" and "failed" tell the server the rest. */
  send(input, file = input.files[0]) {
    if (!file) return;
    const tell = (what) =>
      input.dispatchEvent(new CustomEvent(what, { detail: { name: file.name, size: file.size } }));
    input.value = "";
    if (file.size > Number(input.dataset.limit)) return tell("refused");
    const request = new XMLHttpRequest();
    studio.progress(0);
    request.upload.onprogress = (event) => studio.progress(event.loaded / event.total);
    request.upload.onload = () => studio.progress(1);
    request.onloadend = () => {
      studio.progress(null);
      if (request.status === 413) tell("refused");
      else if (request.status !== 200) tell("failed");
    };
    request.open("POST", `${input.dataset.url}?name=${encodeURIComponent(file.name)}`);
    request.send(file);
  },

  /* A thin bar at the top of the page: a share between 0 and 1, or null when all is done. */
  progress(share) {
    let bar = document.getElementById("studio-upload");
    if (!bar) {
      bar = document.createElement("progress");
      bar.id = "studio-upload";
      bar.setAttribute("aria-label", "upload");
      document.body.append(bar);
    }
    bar.hidden = share === null;
    if (share !== null && share < 1) bar.value = share;
    else bar.removeAttribute("value");
  },

  hasFiles: (event) => Array.from(event.dataTransfer?.types ?? []).includes("Files"),
};

/* A file may fall anywhere; without this a browser would leave the page and show the file. */
window.addEventListener("dragover", (event) => {
  if (!studio.hasFiles(event)) return;
  event.preventDefault();
  document.body.classList.add("studio-dropping");
});
window.addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) document.body.classList.remove("studio-dropping");
});
window.addEventListener("drop", (event) => {
  if (!studio.hasFiles(event)) return;
  event.preventDefault();
  document.body.classList.remove("studio-dropping");
  const input = document.querySelector("input[data-drop]");
  if (input && event.dataTransfer.files.length) studio.send(input, event.dataTransfer.files[0]);
});

/* Undo and redo by keys, but not while someone writes. */
window.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  if (event.target.closest?.("input:not([type=range]), textarea, [contenteditable=true]")) return;
  const key = event.key.toLowerCase();
  const what = key === "z" ? (event.shiftKey ? "redo" : "undo") : key === "y" ? "redo" : null;
  if (!what) return;
  event.preventDefault();
  emitEvent("studio-key", what);
});

/* Light or dark, as this browser remembers it. */
studio.mode = () => localStorage.getItem("opdt-studio-mode") ?? "auto";
studio.nextMode = () => {
  const next = { auto: "dark", dark: "light", light: "auto" }[studio.mode()] ?? "auto";
  localStorage.setItem("opdt-studio-mode", next);
  return next;
};

studio.leave = () => fetch("/logout", { method: "POST" }).then(() => location.assign("/login"));
