/* "Is it real?": the permutation test, asked for, under way, or done. */
export default {
  props: { state: String },
  emits: ["ask", "stop"],
  computed: {
    it() {
      return JSON.parse(this.state);
    },
  },
  template: `
    <section class="real" data-testid="real" aria-label="Is it real?">
      <div class="ev-head">
        <h3 class="studio-subtitle">Is it real?</h3>
        <button type="button" class="rule-button" data-testid="ask-real" v-if="!it.busy" @click="$emit('ask')"
          >{{ it.result ? "Test again" : "Test it" }}</button>
      </div>
      <div role="status" aria-live="polite">
        <p class="ev-words" data-testid="real-outdated" v-if="it.outdated"
          >The question has changed since the last test; test the present rule again.</p>
        <p class="ev-words" v-else-if="!it.result && !it.busy"
          >The best of so many rules looks good even where there is nothing to find. The test repeats the whole
          search on tables whose {{ it.dealt }} are dealt out at random.</p>
        <div class="real-result" data-testid="real-result" v-if="it.result">
          <span class="studio-badge" :class="it.result.tone" data-testid="p-value">{{ it.result.p }}</span>
          <p data-testid="real-says">{{ it.result.says }}</p>
          <p class="studio-soft" data-testid="real-not">{{ it.result.not }}</p>
          <p class="studio-soft studio-small" data-testid="real-detail">{{ it.result.detail }}</p>
        </div>
      </div>
      <div class="rule-search" data-testid="real-progress" v-if="it.busy">
        <progress max="1" :value="it.busy.share" aria-label="Share of the test that is done"></progress>
        <span class="studio-number" data-testid="real-words">{{ it.busy.words }}</span>
        <button type="button" class="rule-button" data-testid="stop-real"
          aria-label="Stop the test and keep what it has found" @click="$emit('stop')">Stop</button>
      </div>
    </section>`,
};
