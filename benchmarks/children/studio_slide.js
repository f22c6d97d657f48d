/* Moves the slider of a page, and measures until the rule of its price is there. */
window.slideTo = (position, onScreen) =>
  new Promise((resolve) => {
    const find = (testid) => document.querySelector(`[data-testid=${testid}]`);
    const [slider, price, rule] = ["price-slider", "price", "rule"].map(find);
    const answered = () => Number(rule.dataset.price) === Number(price.value);
    const finish = () => {
      const ms = performance.now() - started;
      slider.dispatchEvent(new Event("change"));
      const sentence = find("sentence").textContent;
      setTimeout(() => resolve({ ms, price: Number(price.value), sentence }), 30);
    };
    const observer = new MutationObserver(() => {
      if (!answered()) return;
      observer.disconnect();
      if (onScreen) requestAnimationFrame(finish);
      else finish();
    });
    slider.value = position;
    const started = performance.now();
    slider.dispatchEvent(new Event("input"));
    /* The number follows in the next turn; a price that was there before needs no answer. */
    setTimeout(() => {
      if (answered()) finish();
      else observer.observe(rule, { attributes: true, childList: true, subtree: true, characterData: true });
    }, 0);
  });

/* Moves it again and again; what was measured is then in `slid`. */
window.slid = null;
window.slideOn = async (seed, milliseconds) => {
  const found = [];
  const end = performance.now() + milliseconds;
  let state = seed + 1;
  while (performance.now() < end) {
    state = (1103515245 * state + 12345) % 2147483648;
    found.push(await slideTo(Math.floor((state / 2147483648) * 401), false));
  }
  window.slid = found;
};
