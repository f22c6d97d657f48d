/* Precision against coverage: the rules that no other beats. A point is chosen by a click, or by
   arrow keys and Enter. */
const NEAR = 22;

export default {
  mixins: [studio.sized],
  props: { state: String },
  emits: ["choose"],
  data: () => ({ chosen: null, focus: null }),
  computed: {
    it() {
      return JSON.parse(this.state);
    },
    height() {
      return Math.round(Math.min(300, Math.max(200, 0.5 * this.width)));
    },
    frame() {
      return { left: 48, right: this.width - 14, top: 12, bottom: this.height - 40 };
    },
    axes() {
      const { left, right, top, bottom } = this.frame;
      const all = this.it.here ? [...this.it.points, this.it.here] : this.it.points;
      const coverage = Math.max(...all.map((each) => each.coverage));
      const least = Math.min(...all.map((each) => each.precision));
      const room = Math.max(0.02, 1 - least);
      return {
        x: studio.axis({ limits: [0, Math.min(102, 106 * coverage || 100)] }, left, right, (right - left) / 70),
        y: studio.axis({ limits: [100 * Math.max(0, least - 0.08 * room), 100 + 4 * room] }, bottom, top, (bottom - top) / 40),
      };
    },
    points() {
      return this.it.points.map((point, k) => ({
        ...point,
        ...this.place(point),
        words: this.words(point),
        tab: k === (this.focus ?? this.it.here?.index ?? 0) ? 0 : -1,
      }));
    },
    line() {
      return this.points.map(({ x, y }) => `${x},${y}`).join(" ");
    },
    path() {
      return this.points.filter((each) => each.prices).map(({ x, y }) => `${x},${y}`).join(" ");
    },
    here() {
      return this.it.here && this.place(this.it.here);
    },
    tip() {
      const point = this.points[this.chosen];
      if (!point) return null;
      const right = point.x > this.width / 2;
      return {
        ...point,
        style: {
          ...(point.y > this.height / 2
            ? { bottom: `${this.height - point.y + 12}px` }
            : { top: `${point.y + 12}px` }),
          ...(right ? { right: `${this.width - point.x + 6}px` } : { left: `${point.x + 6}px` }),
        },
      };
    },
  },
  watch: {
    state() {
      if (this.chosen !== null && this.chosen >= this.it.points.length) this.chosen = null;
      if (this.focus !== null && this.focus >= this.it.points.length) this.focus = null;
    },
  },
  methods: {
    place({ coverage, precision }) {
      return { x: this.axes.x.place(100 * coverage), y: this.axes.y.place(100 * precision) };
    },
    words(point) {
      const errors = point.errors === 1 ? "1 error" : `${studio.number(point.errors)} errors`;
      const held = point.held ? `, held out ${studio.percent(point.held[0])}` : "";
      return `Precision ${studio.percent(point.precision)}${held}, coverage ${studio.percent(point.coverage)}, ${errors}: ${point.rule}`;
    },
    nearest(event) {
      const box = this.$refs.box.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      let [found, least] = [null, NEAR ** 2];
      this.points.forEach((point, k) => {
        const distance = (point.x - x) ** 2 + (point.y - y) ** 2;
        if (distance < least) [found, least] = [k, distance];
      });
      this.chosen = found;
    },
    click(event) {
      this.nearest(event);
      if (this.chosen !== null) this.choose(this.chosen);
    },
    choose(k) {
      this.focus = k;
      const { covered, errors } = this.it.points[k];
      this.$emit("choose", { index: k, covered, errors });
    },
    key(event, k) {
      const last = this.points.length - 1;
      const to = { ArrowRight: k + 1, ArrowUp: k - 1, ArrowLeft: k - 1, ArrowDown: k + 1, Home: 0, End: last }[event.key];
      if (event.key === "Enter" || event.key === " ") this.choose(k);
      else if (event.key === "Escape") this.chosen = null;
      else if (to === undefined) return;
      else {
        this.focus = Math.min(last, Math.max(0, to));
        this.$nextTick(() => this.$el.querySelectorAll("[role=option]")[this.focus]?.focus());
      }
      event.preventDefault();
    },
  },
  template: `
    <div class="frontier" :class="{ 'frontier-stale': it.stale }" data-testid="frontier">
      <div class="frontier-box" ref="box">
        <svg v-if="it.points.length && width" :width="width" :height="height" role="listbox"
          aria-label="Rules by coverage and precision" @pointermove="nearest" @pointerleave="chosen = null" @click="click">
          <g class="chart-axis" aria-hidden="true">
            <template v-for="tick in axes.x.ticks">
              <line :x1="tick.at" :x2="tick.at" :y1="frame.top" :y2="frame.bottom"/>
              <text :x="tick.at" :y="frame.bottom + 16" text-anchor="middle">{{ tick.text }}</text>
            </template>
            <template v-for="tick in axes.y.ticks">
              <line :x1="frame.left" :x2="frame.right" :y1="tick.at" :y2="tick.at"/>
              <text :x="frame.left - 6" :y="tick.at + 4" text-anchor="end">{{ tick.text }}</text>
            </template>
            <text class="chart-name" :x="frame.right" :y="height - 6" text-anchor="end">coverage, % of the training rows</text>
            <text class="chart-name" :transform="'translate(11 ' + frame.top + ') rotate(-90)'" text-anchor="end">precision, %</text>
          </g>
          <polyline class="frontier-line" :points="line" aria-hidden="true"/>
          <polyline class="frontier-path" :points="path" aria-hidden="true"/>
          <circle v-if="here" class="frontier-here" :cx="here.x" :cy="here.y" r="10" aria-hidden="true"/>
          <g v-for="(point, k) in points" :key="k" role="option" :tabindex="point.tab" :aria-label="point.words"
            :aria-selected="k === it.here?.index ? 'true' : 'false'" data-testid="frontier-point"
            :data-errors="point.errors" :data-covered="point.covered" class="frontier-point"
            :class="{ 'on-path': point.prices, here: k === it.here?.index }"
            @focus="chosen = focus = k" @blur="chosen = null" @keydown="key($event, k)">
            <circle :cx="point.x" :cy="point.y" r="5"/>
          </g>
        </svg>
        <div class="chart-tip" v-if="tip" :style="tip.style" data-testid="frontier-tip">
          <b>{{ tip.precisionText }} precise</b>, covers {{ tip.coverageText }}
          <div>{{ tip.counts }}</div>
          <div v-if="tip.heldText">{{ tip.heldText }}</div>
          <div>{{ tip.pricesText }}</div>
          <div v-if="tip.verdict" class="tip-verdict" :class="tip.verdict.tone">{{ tip.verdict.level }}</div>
          <p>{{ tip.rule }}</p>
        </div>
      </div>
      <p class="frontier-note" data-testid="frontier-note" v-if="it.note" role="status">{{ it.note }}</p>
    </div>`,
};
