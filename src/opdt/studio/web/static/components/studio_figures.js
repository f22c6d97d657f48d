/* What the rule does on the training rows and on the held-out rows, side by side. */
export default {
  props: { state: String },
  computed: {
    parts() {
      return JSON.parse(this.state).parts;
    },
  },
  methods: {
    at: (share) => `${(100 * share).toFixed(2)}%`,
    between: ([low, high]) => ({ left: `${100 * low}%`, width: `${Math.max(0.5, 100 * (high - low))}%` }),
  },
  template: `
    <div class="figures" v-if="parts.length">
      <section v-for="part in parts" class="figures-part" :data-testid="part.testid" :aria-label="part.title">
        <h3><span>{{ part.title }}</span><small>{{ part.rows }}</small></h3>
        <div class="figures-precision">
          <p><span>{{ part.name }}</span> <span>{{ part.interval }}</span></p>
          <b>{{ part.precision }}</b>
          <div :class="{ 'figures-words': part.base === null }">
            <div class="figures-bar" aria-hidden="true" v-if="part.base !== null">
              <i class="figures-interval" v-if="part.band" :style="between(part.band)"></i>
              <i class="figures-base" :style="{ left: at(part.base) }"></i>
              <i class="figures-value" v-if="part.value !== null" :style="{ left: at(part.value) }"></i>
            </div>
            <small>{{ part.baseText }}</small>
          </div>
        </div>
        <dl>
          <div v-for="[name, value, detail] in part.figures">
            <dt>{{ name }}</dt><dd>{{ value }}</dd><dd class="figures-detail">{{ detail }}</dd>
          </div>
        </dl>
      </section>
    </div>`,
};
