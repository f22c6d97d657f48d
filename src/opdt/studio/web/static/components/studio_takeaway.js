/* Files to take away; the text of SQL and of the script can be read and copied here. */
const FILES = [
  ["report", "Report", "one HTML page with the rule, its numbers and pictures"],
  ["certificate", "Certificate", "the proof for the rows that are not held out, checked by a separate program as it is written"],
  ["json", "Rule", "JSON, which opdt reads again"],
  ["sql", "SQL", "the rule's class, or NULL"],
  ["script", "Python", "a script that repeats exactly this analysis"],
  ["project", "Project", "all that was said and pinned, without the data; opens again here"],
];
const SHOWN = ["sql", "script"];

/* The clipboard of the browser is for secure pages only, and may be forbidden; then the old way is tried. */
const copyText = async (text) => {
  try {
    return await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.style.position = "fixed";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("not copied");
  }
};

export default {
  props: { state: String },
  emits: ["take", "show", "dialect"],
  data: () => ({ files: FILES, copied: "" }),
  computed: {
    it() {
      return JSON.parse(this.state);
    },
  },
  watch: {
    "it.text"() {
      this.copied = "";
    },
  },
  methods: {
    canShow: (what) => SHOWN.includes(what),
    writing(what) {
      return this.it.busy.includes(what);
    },
    lacks(what) {
      return this.it.lacks.includes(what);
    },
    async copy() {
      try {
        await copyText(this.it.text);
        this.copied = "Copied";
      } catch {
        this.copied = "Not copied: select the text and copy it";
      }
    },
  },
  template: `
    <div class="takeaway" data-testid="takeaway">
      <ul>
        <li v-for="[what, title, about] in files" :key="what">
          <div class="takeaway-what"><b>{{ title }}</b> <span class="studio-soft">{{ about }}</span></div>
          <select class="studio-select" v-if="what === 'sql'" aria-label="Dialect of SQL" data-testid="dialect"
            @change="$emit('dialect', $event.target.value)">
            <option v-for="[name, text] in it.dialects" :key="name" :value="name" :selected="name === it.dialect">{{ text }}</option>
          </select>
          <button type="button" class="rule-button" v-if="it.shown === what && it.text" data-testid="copy"
            :aria-label="copied || 'Copy ' + title" @click="copy">{{ copied || "Copy" }}</button>
          <button type="button" class="rule-button" v-if="canShow(what)" :data-testid="'show-' + what" :disabled="lacks(what)"
            :aria-expanded="String(it.shown === what)" :aria-label="(it.shown === what ? 'Hide ' : 'Show ') + title"
            @click="$emit('show', what)">{{ it.shown === what ? "Hide" : "Show" }}</button>
          <button type="button" class="rule-button" :data-testid="'take-' + what" :aria-label="'Download: ' + title"
            :disabled="lacks(what) || writing(what)" @click="$emit('take', what)"
            >{{ writing(what) ? "Writing …" : "Download" }}</button>
          <p v-if="what === 'certificate' && it.verified" class="takeaway-verified" data-testid="verified">Independently {{ it.verified }}</p>
          <pre v-if="it.shown === what && it.text" tabindex="0" :class="'takeaway-' + what" :aria-label="title" data-testid="code">{{ it.text }}</pre>
        </li>
      </ul>
    </div>`,
};
