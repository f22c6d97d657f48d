"""Heart failure: a rule that must not look into the future"""

# %% [markdown]
# Of 299 patients with heart failure, 96 died during follow-up. A cardiologist asks: which patients survive, from what is
# known on the day they are seen?

# %%
import numpy as np

import opdt
from opdt import plot
from opdt.datasets import load
from opdt.report import report

heart = load("heart_failure")
X, y = heart.X, np.asarray(heart.y)
solution = opdt.discover(X, y)
print(solution.rule)
print(
    solution.status,
    f"| precision {solution.precision:.3f}, covers {solution.covered:g} of {len(X)}",
)

# %% [markdown]
# Proven optimal, nearly perfect, and useless: `follow_up_days` is how long the patient was observed. Who was observed for
# long had not died yet. The search finds what is in the table, also what should not be there, and one rule is short
# enough for an expert to see it at a glance.

# %%
known = X.drop(columns="follow_up_days")
held = np.zeros(len(X), dtype=bool)
held[np.random.default_rng(0).permutation(len(X))[:90]] = True
demands = {"directions": {"age": "<", "serum_creatinine": "<", "ejection_fraction": ">="}}
model = opdt.OPDTClassifier(max_depth=3, w=4, label="survived", constraints=demands)
model.fit(known[~held], y[~held])
print(model.rule_)
print(model.status_)
print(opdt.rule_report(model.rule_, known[held], y[held], w=4))

# %% [markdown]
# The directions are what a cardiologist knows: survival does not get more likely with age or creatinine, nor less likely
# with a stronger heart. They make the search smaller and the rule safe from nonsense thresholds.

# %%
ax = plot.funnel(model.rule_, known[held], y[held])
ax.figure.savefig("funnel.png", dpi=110, facecolor="white")

# %% [markdown]
# ## For the committee
#
# One file with the rule, the proof, the numbers on unseen patients, the patients it gets wrong, and SQL for the ward's
# database:

# %%
page = report(
    model, known[~held], y[~held], known[held], y[held], title="Heart failure: who survives?"
)
print(page.save("heart-failure.html"))
