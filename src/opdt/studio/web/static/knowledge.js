/* What the knowledge panel does without asking the server: dragging features, keys, the focus. */
"use strict";
const knowledge = {
  kind: "application/x-opdt-feature",
  key: null, // of the control that has the focus, or had it before it was drawn anew
  wanted: null, // of a control that gets the focus as soon as it is there
  all: false, // whether its text is selected too

  focus(key, all = false) {
    knowledge.wanted = key;
    knowledge.all = all;
    knowledge.give();
  },

  /* Give the focus to the control that is to have it. */
  give() {
    const key = knowledge.wanted ?? knowledge.key;
    if (key === null || (knowledge.wanted === null && document.activeElement !== document.body)) return;
    const found = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (!found) return;
    if (document.activeElement !== found) found.focus({ preventScroll: knowledge.wanted === null });
    if (knowledge.all) found.select?.();
    knowledge.wanted = null;
    knowledge.all = false;
  },

  zone: (event) => event.target.closest?.("[data-zone]"),
  isFeature: (event) => Array.from(event.dataTransfer?.types ?? []).includes(knowledge.kind),
  unmark: () => document.querySelectorAll(".know-over").forEach((each) => each.classList.remove("know-over")),
};

document.addEventListener("dragstart", (event) => {
  const chip = event.target.closest?.("[data-chip]");
  if (!chip) return;
  event.dataTransfer.setData(knowledge.kind, JSON.stringify([chip.dataset.chip, chip.dataset.source]));
  event.dataTransfer.effectAllowed = "copyMove";
  document.body.classList.add("know-dragging");
});
document.addEventListener("dragover", (event) => {
  if (!knowledge.isFeature(event)) return;
  const zone = knowledge.zone(event);
  knowledge.unmark();
  if (!zone) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = event.ctrlKey || event.altKey ? "copy" : "move";
  zone.classList.add("know-over");
});
document.addEventListener("drop", (event) => {
  if (!knowledge.isFeature(event)) return;
  event.preventDefault();
  const zone = knowledge.zone(event);
  if (!zone) return;
  const [chip, source] = JSON.parse(event.dataTransfer.getData(knowledge.kind));
  const detail = [chip, source, event.ctrlKey || event.altKey];
  zone.dispatchEvent(new CustomEvent("featuredrop", { detail }));
});
document.addEventListener("dragend", () => {
  knowledge.unmark();
  document.body.classList.remove("know-dragging");
});

/* A chip is no button of HTML, as not every browser lets those be dragged. */
document.addEventListener("keydown", (event) => {
  if (!event.target.matches?.("[data-chip]") || (event.key !== "Enter" && event.key !== " ")) return;
  event.preventDefault();
  event.target.click();
});

/* A control that is drawn anew keeps the focus; a click elsewhere gives it up. */
document.addEventListener("focusin", (event) => {
  knowledge.key = event.target.closest?.("[data-key]")?.dataset.key ?? null;
});
document.addEventListener("pointerdown", (event) => {
  if (!event.target.closest?.("[data-key]")) knowledge.key = knowledge.wanted = null;
});
document.addEventListener("DOMContentLoaded", () => {
  new MutationObserver(knowledge.give).observe(document.body, { childList: true, subtree: true });
});
