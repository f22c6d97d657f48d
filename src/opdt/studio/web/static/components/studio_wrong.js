/* The covered rows of another class, a page at a time; the rule's own columns come first. */
export default {
  props: { state: String },
  emits: ["part", "page"],
  computed: {
    it() {
      return JSON.parse(this.state);
    },
  },
  template: `
    <section class="wrong" data-testid="wrong" aria-label="Rows it gets wrong" v-if="it.parts.length">
      <div class="ev-head">
        <h3 class="studio-subtitle">Rows it gets wrong</h3>
        <div class="ev-switch" role="group" aria-label="Which rows" v-if="it.parts.length > 1">
          <button type="button" v-for="[key, title, total] in it.parts" :key="key" :data-testid="'wrong-' + key"
            :aria-pressed="String(key === it.part)" @click="$emit('part', key)"
            >{{ title }} <b class="studio-number">{{ total.toLocaleString("en-GB") }}</b></button>
        </div>
      </div>
      <p class="ev-words" data-testid="wrong-none" v-if="!it.rows.length">{{ it.nothing }}</p>
      <template v-else>
        <div class="studio-scroll" tabindex="0" role="region" aria-label="Table of the rows it gets wrong">
          <table class="studio-table wrong-table" data-testid="wrong-table">
            <thead><tr>
              <th scope="col" class="n">row</th><th scope="col">its class</th>
              <th scope="col" v-for="([name, isNumber], k) in it.columns" :class="{ n: isNumber, own: k < it.own }"
                ><span class="studio-cut" :title="name">{{ name }}</span></th>
            </tr></thead>
            <tbody>
              <tr v-for="[number, label, cells] in it.rows" :key="number" data-testid="wrong-row">
                <th scope="row" class="n">{{ number.toLocaleString("en-GB") }}</th>
                <td><span class="studio-cut wrong-class">{{ label }}</span></td>
                <td v-for="(cell, k) in cells" :class="{ n: it.columns[k][1], own: k < it.own, 'studio-missing': cell === null }"
                  ><span class="studio-cut">{{ cell === null ? "missing" : cell }}</span></td>
              </tr>
            </tbody>
          </table>
        </div>
        <div class="ev-pages" v-if="it.last">
          <button type="button" class="rule-button" aria-label="Previous rows" data-testid="wrong-previous"
            :disabled="it.page === 0" @click="$emit('page', it.page - 1)">‹</button>
          <button type="button" class="rule-button" aria-label="Next rows" data-testid="wrong-next"
            :disabled="it.page === it.last" @click="$emit('page', it.page + 1)">›</button>
          <span class="studio-soft studio-small" data-testid="wrong-range">{{ it.range }}</span>
        </div>
      </template>
    </section>`,
};
