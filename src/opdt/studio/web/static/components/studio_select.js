/* A drop-down list of the browser's own, of one element however many choices it has. */
export default {
  props: { choices: Array, place: Number, closed: Array },
  emits: ["pick"],
  methods: {
    /* Show a choice again after another one was refused. */
    show(place) {
      this.$el.value = String(place);
    },
  },
  template: `
    <select class="studio-select" :value="String(place)"
      @change="$emit('pick', Number($event.target.value))">
      <option v-for="(words, k) in choices" :key="k" :value="String(k)" :disabled="closed.includes(k)"
        >{{ words }}</option>
    </select>`,
};
