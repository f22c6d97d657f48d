/* The best rule for every threshold, cost or ratio: one line each, chosen by a click. */
export default {
  props: { state: String },
  emits: ["choose"],
  computed: {
    it() {
      return JSON.parse(this.state);
    },
  },
  template: `
    <div class="worth-path" data-testid="worth-path">
      <p class="frontier-note" data-testid="worth-path-note" role="status" v-if="it.note">{{ it.note }}</p>
      <div class="studio-scroll worth-path-table" v-if="it.rows.length" tabindex="0" role="region"
        aria-label="The best rules, one after the other">
        <table class="studio-table">
          <thead><tr><th scope="col" class="n" v-for="title in it.titles">{{ title }}</th>
            <th scope="col"><span class="sr-only">choose</span></th></tr></thead>
          <tbody v-for="row in it.rows" :key="row.place" data-testid="worth-step">
            <tr><td class="n">{{ row.ends }}</td><td class="n" :title="row.rows">{{ row.coverage }}</td>
              <td class="n" v-for="number in row.numbers">{{ number }}</td>
              <td><button type="button" class="rule-button" data-testid="choose-step" v-if="row.open"
                :aria-label="'Ask for: ' + row.rule" @click="$emit('choose', row.place)">Ask</button></td></tr>
            <tr class="worth-rule"><td :colspan="it.titles.length + 1">{{ row.rule }}
              <span class="studio-badge ev-verdict" :class="row.verdict.tone" v-if="row.verdict">{{ row.verdict.level }}</span></td></tr>
          </tbody>
        </table>
      </div>
    </div>`,
};
