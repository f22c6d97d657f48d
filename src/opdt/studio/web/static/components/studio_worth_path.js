/* The best rule for every threshold, cost or ratio: one after the other, each asked for by a click. */
export default {
  props: { state: String },
  emits: ["choose"],
  computed: {
    it() {
      return JSON.parse(this.state);
    },
  },
  mounted() {
    this.follow();
  },
  updated() {
    this.follow();
  },
  methods: {
    /* The present rule is in sight, without moving the page, unless someone has scrolled since. */
    follow() {
      const here = this.$el.querySelector?.("li.here");
      const place = here?.textContent;
      if (here && place !== this.seen) here.parentElement.scrollTop = here.offsetTop - here.parentElement.offsetTop - 40;
      this.seen = place;
    },
  },
  template: `
    <div class="worth-path" data-testid="worth-path">
      <p class="frontier-note" data-testid="worth-path-note" role="status" v-if="it.note">{{ it.note }}</p>
      <ol class="worth-steps" v-if="it.rows.length" tabindex="0" aria-label="The best rules, one after the other">
        <li v-for="row in it.rows" :key="row.place" :class="{ here: row.isRule }" data-testid="worth-step">
          <p class="worth-numbers"><b>{{ row.ends }}</b><span v-for="number in row.numbers">{{ number }}</span>
            <span class="studio-badge" v-if="row.isRule">the rule</span>
            <button type="button" class="rule-button" data-testid="choose-step" v-else-if="row.open"
              :aria-label="'Ask for: ' + row.rule" @click="$emit('choose', row.place)">Ask for it</button></p>
          <p class="worth-rule">{{ row.rule }}
            <span class="studio-badge ev-verdict" :class="row.verdict.tone" v-if="row.verdict">{{ row.verdict.level }}</span></p>
        </li>
      </ol>
    </div>`,
};
