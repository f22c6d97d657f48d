/* The present rule and the pinned ones: one block of lines each, the numbers below each other. */
export default {
  props: { state: String },
  emits: ["pin", "remove", "note"],
  data: () => ({ note: "", drafts: {} }),
  computed: {
    it() {
      return JSON.parse(this.state);
    },
  },
  methods: {
    say: (parts) => parts.map(([, text]) => text).join(""),
    pin() {
      if (!this.it.canPin) return;
      this.$emit("pin", this.note);
      this.note = "";
    },
    write(key, text) {
      /* What is being written is kept while numbers change around it. */
      this.drafts[key] = text;
    },
    written(key, text) {
      delete this.drafts[key];
      this.$emit("note", [key, text]);
    },
  },
  template: `
    <div class="pins" data-testid="pins">
      <form class="pins-new" @submit.prevent="pin">
        <input class="studio-input" type="text" placeholder="A note on the present rule" aria-label="A note on the present rule"
          autocomplete="off" data-testid="pin-note" :maxlength="it.longest" :disabled="!it.canPin" v-model="note">
        <button type="submit" class="rule-button" data-testid="pin" :disabled="!it.canPin"
          >{{ it.isPinned ? "Pinned" : "Pin the present rule" }}</button>
      </form>
      <p class="ev-words" v-if="!it.count">Pin a rule, change what you have said, and compare.</p>
      <div class="studio-scroll" v-else>
        <table class="studio-table ev-table pins-table" aria-label="Pinned rules beside the present one">
          <thead><tr>
            <th scope="col">rows</th><th scope="col" class="n" v-for="title in it.titles">{{ title }}</th>
          </tr></thead>
          <tbody v-for="rule in it.rules" :key="(rule.note === null ? 'now ' : '') + rule.key"
            :class="{ 'pins-now': rule.isNow }" :data-testid="rule.note === null ? 'present' : 'pinned'">
            <tr class="pins-head"><th :colspan="it.titles.length + 1" scope="rowgroup"><div>
              <div class="pins-rule">
                <span class="studio-badge" v-if="rule.isNow">present rule</span>
                <span class="studio-badge ev-verdict" :class="rule.verdict.tone" :title="rule.verdict.reason"
                  data-testid="pinned-verdict" v-if="rule.verdict">{{ rule.verdict.level }}</span>
                <span class="ev-rule" data-testid="pinned-sentence"><span v-for="[kind, text] in rule.parts" :class="'rule-' + kind">{{ text }}</span></span>
                <input v-if="rule.note !== null" class="studio-input pins-note" type="text" placeholder="note" autocomplete="off"
                  :aria-label="'Note on: ' + say(rule.parts)" data-testid="pinned-note" :maxlength="it.longest"
                  :value="drafts[rule.key] ?? rule.note" @input="write(rule.key, $event.target.value)"
                  @change="written(rule.key, $event.target.value)">
              </div>
              <button v-if="rule.note !== null" type="button" class="rule-button" data-testid="unpin"
                :aria-label="'Remove the pinned rule: ' + say(rule.parts)" @click="$emit('remove', rule.key)">Remove</button>
            </div></th></tr>
            <tr v-for="[title, cells] in rule.lines" :key="title" data-testid="pinned-line">
              <th scope="row">{{ title }}</th>
              <td class="n" v-for="cell in cells">
                <b>{{ cell.text }}</b> <span class="pins-difference" :class="cell.tone" v-if="cell.difference">{{ cell.difference }}</span>
                <small v-if="cell.detail">{{ cell.detail }}</small>
              </td>
            </tr>
            <tr v-if="!rule.lines.length"><td :colspan="it.titles.length + 1" class="studio-soft"
              data-testid="pinned-unmeasured">Not measured: it needs a column that is no feature now, or is for another
              target.</td></tr>
          </tbody>
        </table>
      </div>
    </div>`,
};
