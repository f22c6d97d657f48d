/* The rows that are left after each condition: those of the class, and the others. */
export default {
  props: { state: String },
  computed: {
    it() {
      return JSON.parse(this.state);
    },
  },
  methods: {
    share: (rows, all) => ({ width: `${all ? (100 * rows) / all : 0}%` }),
  },
  template: `
    <section class="funnel" v-if="it.stages.length" data-testid="funnel" aria-label="Condition by condition">
      <h3 class="studio-subtitle">Condition by condition</h3>
      <table>
        <thead><tr>
          <th scope="col">rows on which</th><th scope="col"><span class="sr-only">share of all training rows</span></th>
          <th scope="col" class="n">training rows</th><th scope="col" class="n">{{ it.label }}</th>
          <th scope="col" class="n" v-if="it.held">held out</th><th scope="col" class="n" v-if="it.held">{{ it.label }}</th>
        </tr></thead>
        <tbody>
          <tr v-for="(stage, k) in it.stages" :key="k" data-testid="stage">
            <th scope="row"><span v-if="k > 1">and </span>{{ stage.condition }}</th>
            <td class="funnel-bar"><div aria-hidden="true">
              <i class="funnel-class" :style="share(stage.correct, it.all)"></i
              ><i class="funnel-other" :style="share(stage.errors, it.all)"></i>
            </div></td>
            <td class="n">{{ stage.rows }}</td><td class="n">{{ stage.share }}</td>
            <td class="n" v-if="it.held">{{ stage.heldRows }}</td><td class="n" v-if="it.held">{{ stage.heldShare }}</td>
          </tr>
        </tbody>
      </table>
    </section>`,
};
