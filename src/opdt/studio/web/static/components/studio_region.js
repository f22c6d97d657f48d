/* The rows and the rule over two features. Rows of one class are one path, so that thousands of them
   are drawn at once; which row is pointed at is looked up among their places. */
const SHAPES = [
  (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`,
  (x, y, r) => `M${x} ${y - 1.25 * r}l${1.2 * r} ${2.1 * r}h${-2.4 * r}z`,
  (x, y, r) => `M${x - 0.9 * r} ${y - 0.9 * r}h${1.8 * r}v${1.8 * r}h${-1.8 * r}z`,
  (x, y, r) => `M${x} ${y - 1.3 * r}l${1.2 * r} ${1.3 * r}l${-1.2 * r} ${1.3 * r}l${-1.2 * r} ${-1.3 * r}z`,
];
const shape = (label) => SHAPES[label % SHAPES.length];
const NEAR = 16;
const tenth = (value) => Math.round(10 * value) / 10;

export default {
  mixins: [studio.sized],
  props: { state: String },
  data: () => ({ chosen: null }),
  watch: {
    state() {
      this.chosen = null;
    },
  },
  computed: {
    it() {
      return JSON.parse(this.state);
    },
    height() {
      return Math.round(Math.min(400, Math.max(250, 0.52 * this.width)));
    },
    frame() {
      const letters = Math.max(0, ...this.it.y.ticks.map(([, text]) => Math.min(16, text.length)));
      const left = this.it.y.ticks.length ? 18 + 7 * letters : 62;
      return { left, right: this.width - 8, top: 8, bottom: this.height - 42 };
    },
    axes() {
      const { left, right, top, bottom } = this.frame;
      return {
        x: studio.axis(this.it.x, left, right, (right - left) / 90),
        y: studio.axis(this.it.y, bottom, top, (bottom - top) / 50),
      };
    },
    levelRoom() {
      const count = this.it.x.ticks.length;
      return count ? Math.floor((this.frame.right - this.frame.left) / count / 7) : 14;
    },
    boxes() {
      const { x, y } = this.axes;
      return this.it.boxes.map(([low, high, down, up]) => ({
        x: x.place(low),
        width: Math.max(0, x.place(high) - x.place(low)),
        y: y.place(up),
        height: Math.max(0, y.place(down) - y.place(up)),
      }));
    },
    places() {
      const { x, y, label, covered } = this.it.points;
      return x.map((each, k) => ({
        x: tenth(this.axes.x.place(each)),
        y: tenth(this.axes.y.place(y[k])),
        label: label[k],
        covered: covered[k],
      }));
    },
    radius() {
      return this.places.length > 700 ? 2.6 : this.places.length > 250 ? 3.2 : 4;
    },
    marks() {
      const groups = new Map();
      for (const { x, y, label, covered } of this.places) {
        const kind = Math.min(label, SHAPES.length);
        const key = `region-mark ${covered ? "inside" : "outside"} class-${kind}`;
        groups.set(key, (groups.get(key) ?? "") + shape(label)(x, y, this.radius));
      }
      /* Covered rows over the others, errors over all. */
      const rank = (kind) => 10 * kind.includes("inside") + Number(kind.at(-1));
      return [...groups].sort(([one], [other]) => rank(one) - rank(other));
    },
    legend() {
      return this.it.classes.slice(0, SHAPES.length + 1).map((name, label, all) => ({
        name: label === SHAPES.length ? `${this.it.classes.length - SHAPES.length} other classes` : name,
        kind: `region-mark inside class-${label}`,
        d: shape(label)(7, 7, 4),
      }));
    },
    tip() {
      if (this.chosen === null) return null;
      const { number, label, covered, cells } = this.it.points;
      const k = this.chosen;
      const place = this.places[k];
      const right = place.x > this.width / 2;
      return {
        place,
        title: `Row ${studio.number(number[k])}`,
        label: this.it.classes[label[k]],
        verdict: covered[k] ? (label[k] && this.it.hasErrors ? "covered: an error" : "covered") : "not covered",
        cells: this.it.columns.map((name, column) => [name, cells[column][k]]),
        style: {
          top: `${Math.min(place.y + 10, this.height - 40)}px`,
          ...(right ? { right: `${this.width - place.x + 10}px` } : { left: `${place.x + 10}px` }),
        },
      };
    },
    order() {
      return [...this.places.keys()].sort((a, b) => this.places[a].x - this.places[b].x);
    },
  },
  methods: {
    cut: studio.cut,
    point(event) {
      const box = this.$refs.box.getBoundingClientRect();
      const [x, y] = [event.clientX - box.left, event.clientY - box.top];
      let [nearest, least] = [null, NEAR ** 2];
      this.places.forEach((place, k) => {
        const distance = (place.x - x) ** 2 + (place.y - y) ** 2;
        if (distance < least) [nearest, least] = [k, distance];
      });
      this.chosen = nearest;
    },
    step(event) {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (event.key === "Escape") this.chosen = null;
      if (!by || !this.order.length) return;
      event.preventDefault();
      const now = this.order.indexOf(this.chosen);
      const next = now < 0 ? (by > 0 ? 0 : this.order.length - 1) : now + by;
      this.chosen = this.order[Math.min(this.order.length - 1, Math.max(0, next))];
    },
  },
  template: `
    <figure class="region" v-show="it.points" data-testid="region" aria-label="The region of the rule">
      <figcaption>
        <h3 class="studio-subtitle">The region</h3>
        <ul class="region-legend" v-if="it.points">
          <li v-for="each in legend"><svg width="14" height="14" aria-hidden="true">
            <path :class="each.kind" :d="each.d"/></svg>{{ cut(each.name, 40) }}</li>
          <li><i class="region-swatch" aria-hidden="true"></i>where the rule holds</li>
        </ul>
      </figcaption>
      <div class="region-box" ref="box">
        <svg v-if="it.points && width" :width="width" :height="height" role="img" tabindex="0"
          :aria-label="it.description" data-testid="region-picture"
          @pointermove="point" @pointerdown="point" @pointerleave="chosen = null" @blur="chosen = null" @keydown="step">
          <rect class="region-ground" :x="frame.left" :y="frame.top" :width="Math.max(0, frame.right - frame.left)"
            :height="frame.bottom - frame.top"/>
          <rect v-for="box in boxes" class="region-shade" v-bind="box"/>
          <g class="chart-axis">
            <template v-for="tick in axes.x.ticks">
              <line v-if="!it.x.ticks.length" :x1="tick.at" :x2="tick.at" :y1="frame.top" :y2="frame.bottom"/>
              <text :x="tick.at" :y="frame.bottom + 16" text-anchor="middle">{{ cut(tick.text, levelRoom) }}</text>
            </template>
            <template v-for="tick in axes.y.ticks">
              <line v-if="!it.y.ticks.length" :x1="frame.left" :x2="frame.right" :y1="tick.at" :y2="tick.at"/>
              <text :x="frame.left - 6" :y="tick.at + 4" text-anchor="end">{{ cut(tick.text, 16) }}</text>
            </template>
            <text class="chart-name" :x="frame.right" :y="height - 6" text-anchor="end">{{ cut(it.x.title, 70) }}</text>
            <text class="chart-name" :transform="'translate(12 ' + frame.top + ') rotate(-90)'"
              text-anchor="end">{{ cut(it.y.title, 40) }}</text>
          </g>
          <path v-for="[kind, d] in marks" :key="kind" :class="kind" :d="d"/>
          <rect v-for="box in boxes" class="region-edge" v-bind="box"/>
          <circle v-if="tip" class="chart-ring" :cx="tip.place.x" :cy="tip.place.y" :r="radius + 4"/>
        </svg>
        <div class="chart-tip" v-if="tip" :style="tip.style" role="status" data-testid="region-tip">
          <b>{{ tip.title }}</b> <span>{{ cut(tip.label, 60) }}, {{ tip.verdict }}</span>
          <div v-for="[name, value] in tip.cells"><span>{{ cut(name, 60) }}</span> <b>{{ cut(value, 60) }}</b></div>
        </div>
      </div>
      <p class="region-note" v-if="it.note">{{ it.note }}</p>
    </figure>`,
};
