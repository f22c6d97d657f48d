/* What the pictures share: the width they have, axes with round numbers, and numbers in words. */
"use strict";

/* A number as a person writes it, with at most five digits that count. */
studio.number = (value) =>
  value.toLocaleString("en-GB", { maximumSignificantDigits: Math.abs(value) >= 1e4 ? 15 : 5, maximumFractionDigits: 20 });

studio.percent = (share) => (share === null ? "–" : `${(100 * share).toFixed(1)} %`);

/* A text that fits into so many letters. */
studio.cut = (text, most) => (text.length <= most ? text : text.slice(0, Math.max(1, most - 1)) + "…");

/* Round numbers from low to high, about so many. */
studio.roundTicks = (low, high, count) => {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((each) => each * power >= rough) * power;
  const ticks = [];
  for (let k = Math.ceil(low / step); k * step <= high * (1 + 1e-12); k++) ticks.push(k * step || 0);
  return ticks;
};

/* Powers of ten, with 2 and 5 times each where there is room. */
studio.logTicks = (low, high, count) => {
  const decades = Math.log10(high / low);
  if (decades < 1) return studio.roundTicks(low, high, count);
  const factors = 3 * decades <= count ? [1, 2, 5] : [1];
  const every = Math.max(1, Math.ceil(decades / count));
  const ticks = [];
  for (let k = Math.floor(Math.log10(low)); 10 ** k <= high; k += every)
    for (const factor of factors) {
      const tick = factor * 10 ** k;
      if (tick >= low && tick <= high) ticks.push(tick);
    }
  return ticks;
};

/* An axis between two places of the screen: where a value lies, and its ticks. */
studio.axis = ({ limits: [low, high], ticks = [], log = false, dates = false }, from, to, count) => {
  const turn = log ? Math.log10 : (value) => value;
  const [start, length] = [turn(low), turn(high) - turn(low) || 1];
  const place = (value) => from + ((turn(value) - start) / length) * (to - from);
  const text = dates
    ? (day) => new Date(Math.round(day) * 864e5).toISOString().slice(0, 10)
    : studio.number;
  const round = log ? studio.logTicks : studio.roundTicks;
  const marks = ticks.length ? ticks : round(low, high, count).map((tick) => [tick, text(tick)]);
  return { place, ticks: marks.map(([value, words]) => ({ at: place(value), text: words })) };
};

/* For components that draw into the width of their `box`: `width` follows it. */
studio.sized = {
  data: () => ({ width: 0 }),
  mounted() {
    this.observer = new ResizeObserver(([entry]) => {
      this.width = Math.round(entry.contentRect.width);
    });
    this.observer.observe(this.$refs.box);
  },
  unmounted() {
    this.observer.disconnect();
  },
};
