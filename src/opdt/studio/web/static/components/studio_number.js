/* A field for a number, or for nothing; what is being written is kept until it is done. */
export default {
  props: { state: String, label: String, testid: String, unit: String, most: Number, step: String },
  emits: ["written"],
  data: () => ({ text: "", writing: false }),
  created() {
    this.follow();
  },
  computed: {
    it() {
      return JSON.parse(this.state);
    },
  },
  watch: {
    state() {
      if (!this.writing) this.follow();
    },
  },
  methods: {
    follow() {
      this.text = this.it.value;
    },
    done() {
      this.writing = false;
      if (String(this.text) !== this.it.value) this.$emit("written", String(this.text));
    },
  },
  template: `
    <label class="studio-field number">
      <span>{{ label }}</span>
      <span class="number-box"><input class="studio-input" type="number" min="0" :max="most" :step="step"
        placeholder="any" :data-testid="testid" v-model="text"
        @input="writing = true" @change="done"><span v-if="unit">{{ unit }}</span></span>
    </label>`,
};
