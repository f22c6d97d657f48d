/* Rules that are nearly as good as the best one, those for the same rows together. */
export default {
  props: { state: String },
  emits: ["ask", "within", "stop", "page", "pin"],
  computed: {
    it() {
      return JSON.parse(this.state);
    },
  },
  methods: {
    say: (parts) => parts.map(([, text]) => text).join(""),
  },
  template: `
    <div class="alternatives" data-testid="alternatives">
      <p class="ev-words" data-testid="unlisted" v-if="it.unlisted">{{ it.unlisted }}</p>
      <div class="ev-head" v-else>
        <label class="ev-label"><span class="ev-name">{{ it.name }}</span> within <select class="studio-select" data-testid="within"
          aria-label="How near to the optimum"
          @change="$emit('within', Number($event.target.value))">
          <option v-for="[share, text] in it.shares" :key="share" :value="share" :selected="share === it.within">{{ text }}</option>
        </select> of the optimum</label>
        <button type="button" class="rule-button" data-testid="ask-alternatives" v-if="!it.facts && !it.busy"
          @click="$emit('ask')">Find them all</button>
      </div>
      <div role="status" aria-live="polite">
        <p class="ev-words" data-testid="alternatives-outdated" v-if="it.outdated"
          >The question has changed since the last search; ask for the rules near the present one.</p>
        <p class="ev-words" data-testid="alternatives-facts" v-if="it.facts">{{ it.facts }}</p>
        <p class="ev-sentence" data-testid="exchange" v-if="it.sentence">{{ it.sentence }}</p>
      </div>
      <div class="rule-search" data-testid="alternatives-progress" v-if="it.busy">
        <progress aria-label="The search is under way"></progress>
        <span>Searching …</span>
        <button type="button" class="rule-button" data-testid="stop-alternatives"
          aria-label="Stop the search and keep what it has found" @click="$emit('stop')">Stop</button>
      </div>
      <div class="studio-scroll" v-if="it.rows.length">
        <table class="studio-table ev-table" aria-label="Rules nearly as good">
          <thead><tr>
            <th scope="col">rule</th><th scope="col" class="n" v-for="title in it.titles">{{ title }}</th>
            <th scope="col">rows</th><th scope="col"><span class="sr-only">pin</span></th>
          </tr></thead>
          <tbody v-for="row in it.rows" :key="row.place">
            <tr data-testid="alternative">
              <th scope="row" class="ev-rule"><span v-for="[kind, text] in row.parts" :class="'rule-' + kind">{{ text }}</span>
                <span class="studio-badge ev-verdict" :class="row.verdict.tone" :title="row.verdict.reason"
                  data-testid="alternative-verdict">{{ row.verdict.level }}</span></th>
              <td class="n" v-for="number in row.numbers">{{ number }}</td>
              <td class="ev-rows" data-testid="alternative-rows"><span class="studio-badge" v-if="row.isRule">the rule</span
                ><template v-else><span v-for="words in row.rows">{{ words }}</span></template></td>
              <td><button type="button" class="rule-button" data-testid="pin-alternative" :disabled="row.pinned"
                :aria-label="(row.pinned ? 'Pinned: ' : 'Pin: ') + say(row.parts)"
                @click="$emit('pin', [it.revision, row.place, 0])">{{ row.pinned ? "Pinned" : "Pin" }}</button></td>
            </tr>
            <tr v-if="row.ways.length" class="ev-ways"><td :colspan="it.titles.length + 3">
              <details data-testid="ways">
                <summary>{{ row.also }}</summary>
                <ul>
                  <li v-for="([parts, pinned], k) in row.ways" :key="k">
                    <span><span v-for="[kind, text] in parts" :class="'rule-' + kind">{{ text }}</span></span>
                    <button type="button" class="rule-button" :disabled="pinned"
                      :aria-label="(pinned ? 'Pinned: ' : 'Pin: ') + say(parts)"
                      @click="$emit('pin', [it.revision, row.place, k + 1])">{{ pinned ? "Pinned" : "Pin" }}</button>
                  </li>
                  <li v-if="row.more" class="studio-soft">{{ row.more }}</li>
                </ul>
              </details>
            </td></tr>
          </tbody>
        </table>
      </div>
      <p class="studio-soft studio-small" v-if="it.rows.length">{{ it.judged }}</p>
      <div class="ev-pages" v-if="it.rows.length && it.last">
        <button type="button" class="rule-button" aria-label="Previous rules" data-testid="alternatives-previous"
          :disabled="it.page === 0" @click="$emit('page', it.page - 1)">‹</button>
        <button type="button" class="rule-button" aria-label="Next rules" data-testid="alternatives-next"
          :disabled="it.page === it.last" @click="$emit('page', it.page + 1)">›</button>
        <span class="studio-soft studio-small" data-testid="alternatives-range">{{ it.range }}</span>
      </div>
    </div>`,
};
