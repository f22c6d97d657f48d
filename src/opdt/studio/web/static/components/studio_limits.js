/* The limits on the rule: what they say, what the rule does, and whether that is within them. */
export default {
  props: { state: String },
  computed: {
    it() {
      return JSON.parse(this.state);
    },
  },
  template: `
    <section class="limits" v-if="it.limits.length" data-testid="limits" aria-label="Limits">
      <h3 class="studio-subtitle">Limits</h3>
      <ul>
        <li v-for="(limit, k) in it.limits" :key="k" data-testid="limit">
          <p class="limits-head"><span class="limits-says">{{ limit.says }}</span>
            <span class="limits-part"><b class="limits-word" :class="limit.train.met ? 'good' : 'bad'"
              data-testid="limit-met">{{ limit.train.word }}</b> {{ limit.train.numbers }}</span>
            <span class="limits-part studio-soft" v-if="limit.held" data-testid="limit-held">held out:
              <b class="limits-word" :class="{ bad: limit.held.met === false }" v-if="limit.held.word">{{ limit.held.word }},</b>
              {{ limit.held.numbers }}</span></p>
          <details v-if="limit.lines.length" :open="limit.lines.length < 5">
            <summary>{{ limit.lines.length === 1 ? "one value" : "value by value" }}</summary>
            <div class="studio-scroll"><table class="studio-table" data-testid="limit-lines">
              <thead><tr><th scope="col">value</th><th scope="col">training rows</th>
                <th scope="col" v-if="it.held">held out</th></tr></thead>
              <tbody><tr v-for="line in limit.lines" data-testid="limit-line">
                <th scope="row">{{ line.name }}</th><td>{{ line.train }}</td><td v-if="it.held">{{ line.held }}</td>
              </tr></tbody>
            </table></div>
            <p class="studio-soft studio-small" v-if="limit.more">{{ limit.more }}</p>
          </details>
        </li>
      </ul>
    </section>`,
};
