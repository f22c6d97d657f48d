/* The price of an error: a slider on a logarithmic scale, and the number itself.

   While the slider moves, one price is asked at a time: the next one, the newest by then, goes out
   when its answer is there. So every answer is shown, and none waits behind those nobody needs. */
const STEPS = 400;
const PATIENCE = 400; // milliseconds after which a slow answer is no longer waited for

export default {
  props: { state: String },
  emits: ["price", "settle"],
  data: () => ({ position: 0, text: "", most: 100, moving: false, writing: false, asked: null, next: null }),
  created() {
    this.follow();
  },
  unmounted() {
    clearTimeout(this.timer);
  },
  computed: {
    it() {
      return JSON.parse(this.state);
    },
    marks() {
      return this.it.marks.filter((mark) => mark < this.most).map((mark) => 100 * this.share(mark));
    },
  },
  watch: {
    state() {
      if (this.it.answered === this.asked) this.free();
      if (!this.moving && this.asked === null) this.follow();
    },
  },
  methods: {
    share(price) {
      return Math.log(Math.max(1, price)) / Math.log(this.most);
    },
    /* Show the price that counts. */
    follow() {
      this.most = Math.max(this.it.most, this.it.price);
      this.position = Math.round(STEPS * this.share(this.it.price));
      if (!this.writing) this.text = String(this.it.price);
    },
    slide(event) {
      this.moving = true;
      this.position = Number(event.target.value);
      const price = Number((this.most ** (this.position / STEPS)).toPrecision(3));
      this.text = String(price);
      this.ask(price);
    },
    rest() {
      this.moving = false;
      if (this.asked === null) this.$emit("settle");
    },
    write() {
      this.writing = false;
      const price = Number(this.text);
      if (this.text === "" || price === this.it.price) this.follow();
      else this.$emit("price", price);
      this.$emit("settle");
    },
    ask(price) {
      this.next = price;
      if (this.asked === null) this.send();
    },
    send() {
      this.asked = this.next;
      this.next = null;
      this.$emit("price", this.asked);
      this.timer = setTimeout(() => this.free(), PATIENCE);
    },
    free() {
      clearTimeout(this.timer);
      const last = this.asked;
      this.asked = null;
      if (this.next !== null && this.next !== last) this.send();
      else if (!this.moving) this.$emit("settle");
      if (this.asked === null) this.next = null;
    },
  },
  template: `
    <div class="price">
      <label class="price-name" :for="$attrs.id + '-number'">Price of one error, in rows (w)</label>
      <input class="studio-input price-number" type="number" min="1" step="any" inputmode="decimal"
        :id="$attrs.id + '-number'" data-testid="price" v-model="text"
        @focus="writing = true" @change="write" @blur="writing = false; follow()">
      <div class="price-track">
        <input type="range" min="0" :max="${STEPS}" step="1" :value="position" data-testid="price-slider"
          aria-label="Price of one error" :aria-valuetext="text + ' rows'" @input="slide" @change="rest">
        <div class="price-marks" aria-hidden="true"><i v-for="mark in marks" :style="{ left: mark + '%' }"></i></div>
        <div class="price-ends" aria-hidden="true"><span>more rows</span><span>fewer errors</span></div>
      </div>
    </div>`,
};
