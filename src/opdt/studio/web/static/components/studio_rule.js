/* The rule in words, what is proven, whether the rows speak for it, and how far a search is. */
export default {
  props: { state: String },
  emits: ["stop", "again"],
  data: () => ({ away: false }),
  computed: {
    it() {
      return JSON.parse(this.state);
    },
  },
  mounted() {
    /* Where the page is narrow the rule scrolls away while something is changed: it is then docked. */
    this.observer = new IntersectionObserver(([entry]) => (this.away = !entry.isIntersecting));
    this.observer.observe(this.$refs.top);
  },
  unmounted() {
    this.observer.disconnect();
  },
  template: `
    <div class="rule" :class="{ 'rule-stale': it.stale }" :data-revision="it.revision" :data-price="it.price"
      data-testid="rule">
      <div aria-live="polite" ref="top">
        <p class="studio-rule" data-testid="sentence" v-if="it.parts.length"
          ><span v-for="[kind, text] in it.parts" :class="'rule-' + kind">{{ text }}</span></p>
        <p class="rule-idle" data-testid="idle" v-else>{{ it.idle }}</p>
      </div>
      <p class="rule-advice" data-testid="advice" v-if="it.advice">{{ it.advice }}</p>
      <div class="rule-status" role="status" aria-live="polite">
        <span class="studio-badge" :class="it.tone" data-testid="badge" v-if="it.badge">{{ it.badge }}</span>
        <span class="rule-proof" data-testid="proof" v-if="it.proof">{{ it.proof }}</span>
        <button type="button" class="rule-button" data-testid="again" v-if="it.again"
          @click="$emit('again')">{{ it.again }}</button>
      </div>
      <div class="rule-verdict" :class="it.verdict.tone" data-testid="verdict" role="status" aria-live="polite"
        v-if="it.verdict">
        <p><b data-testid="verdict-level">{{ it.verdict.level }}</b>
          <span data-testid="verdict-reason">{{ it.verdict.reason }}</span></p>
        <p class="studio-soft" data-testid="verdict-cure"
          ><template v-if="it.testing">A quick test against chance is under way …</template
          ><template v-else>{{ it.verdict.cure }}</template></p>
      </div>
      <div class="rule-search" data-testid="searching" v-if="it.search">
        <progress max="1" :value="it.search.share" aria-label="Share of the search that is done"></progress>
        <span class="studio-number" data-testid="search-words">{{ it.search.words }}</span>
        <button type="button" class="rule-button rule-stop" data-testid="stop"
          aria-label="Stop the search and keep the best rule so far" @click="$emit('stop')">Stop</button>
      </div>
      <div class="rule-dock" v-if="away && it.dock" aria-hidden="true">
        <b><span v-for="[kind, text] in it.parts" :class="'rule-' + kind">{{ text }}</span></b>
        <span>{{ it.dock }}</span>
      </div>
    </div>`,
};
