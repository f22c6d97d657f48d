"""Options that several commands share: the data, what to look for, and how far to go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DATA = "The data"
KNOWN = "What you know"
WANTED = "What the rule must meet"
UNSEEN = "Rows the rule has not seen"
WORTH = "What rows are worth"

# Text, as paths would fold the slashes of an address and of a query.
Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV (also gzipped), Parquet or Excel file, a table of a database "
        "('clinic.db::patients') or an address; '-' is the standard input.",
    ),
]
Files = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV (also gzipped), Parquet or Excel file, a table of a database "
        "('clinic.db::patients') or an address; '-' is the standard input. Several files, a "
        "folder or a pattern are read in pieces: 'claims/*.parquet'.",
    ),
]
Target = Annotated[
    str,
    typer.Option(
        metavar="COLUMN", help="Column that holds the class of each row, or its number ('mean')."
    ),
]
AnyTarget = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="COLUMN",
        help="Column that holds the class of each row, or its number with 'mean'; not with "
        "'uplift' and 'survival'.",
    ),
]
Depth = Annotated[
    int | None,
    typer.Option(metavar="N", help="Most conditions (the structure's depth, or 2)."),
]
Price = Annotated[
    float | None,
    typer.Option(
        "--w", metavar="X", help="Price of one error, in rows: asks for the best VI (10)."
    ),
]
Objective = Annotated[
    str | None,
    typer.Option(
        metavar="WHAT",
        help="What the rule is best in: 'precision' (the default), 'vi', 'coverage', 'money', "
        "'mean', 'uplift', 'survival', 'f1', 'wracc', 'youden', 'chi2', 'gini', 'mcc', "
        "'odds_ratio' or 'lift'.",
    ),
]
Benefit = Annotated[
    str | None,
    typer.Option(
        metavar="AMOUNT",
        help="With 'money': what a row of the class brings, a number or a column.",
        rich_help_panel=WORTH,
    ),
]
Cost = Annotated[
    str | None,
    typer.Option(
        metavar="AMOUNT",
        help="With 'money': what a row of another class costs, a number or a column. With "
        "'uplift': what treating a row costs (0).",
        rich_help_panel=WORTH,
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        metavar="X",
        help="With 'mean': the largest sum of (target - X); the highest mean if left out.",
        rich_help_panel=WORTH,
    ),
]
Low = Annotated[
    bool,
    typer.Option(
        "--low",
        help="Where the target ('mean'), the outcome ('uplift') or the risk ('survival') is low.",
        rich_help_panel=WORTH,
    ),
]
Unit = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT", help="Unit of amounts or of the target: 'EUR'.", rich_help_panel=WORTH
    ),
]
Treatment = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="With 'uplift': the column of two arms, 0 and 1, or see '--treated'.",
        rich_help_panel=WORTH,
    ),
]
TreatedArm = Annotated[
    str | None,
    typer.Option(
        "--treated", metavar="VALUE", help="With 'uplift': the arm that was treated (1).",
        rich_help_panel=WORTH,
    ),
]  # fmt: skip
Outcome = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="With 'uplift': what came of it, numbers.", rich_help_panel=WORTH
    ),
]
Propensity = Annotated[
    str | None,
    typer.Option(
        metavar="CHANCE",
        help="With 'uplift': the known chance to be treated, a number or a column (estimated).",
        rich_help_panel=WORTH,
    ),
]
TimeColumn = Annotated[
    str | None,
    typer.Option(
        "--time", metavar="COLUMN", help="With 'survival': the time until the event, or until a "
        "row was no longer watched.", rich_help_panel=WORTH,
    ),
]  # fmt: skip
EventColumn = Annotated[
    str | None,
    typer.Option(
        "--event", metavar="COLUMN", help="With 'survival': 1 where the event came, else 0.",
        rich_help_panel=WORTH,
    ),
]  # fmt: skip
Score = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="With 'survival': 'log-rank' (the default) or 'martingale'.",
        rich_help_panel=WORTH,
    ),
]  # fmt: skip
Ratio = Annotated[
    float | None,
    typer.Option(
        metavar="X", help="With 'survival': how many times the pace of all rows counts (1).",
        rich_help_panel=WORTH,
    ),
]  # fmt: skip
Paper = Annotated[
    bool,
    typer.Option("--paper", help="As in the paper: the best VI over all classes, w = 10."),
]
Wanted = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="CLASS",
        help="Class to find a rule for; 'rarest', or 'all' (the rarer of two classes).",
    ),
]
EngineName = Annotated[str, typer.Option(metavar="NAME", help="How to search; see 'opdt engines'.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", help="When to stop with the best rule so far."),
]
Jobs = Annotated[int | None, typer.Option(metavar="N", help="Threads (all cores).")]
MemoryLimit = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Read the data in pieces, with so much memory: '2GB'."),
]
DaskAddress = Annotated[
    str | None,
    typer.Option(
        "--dask", metavar="ADDRESS", help="Have the workers of this Dask scheduler read the files."
    ),
]
JsonOut = Annotated[
    Path | None,
    typer.Option(
        "--json", metavar="FILE", help="Write the result as JSON; '-' prints nothing else."
    ),
]
CertificateOut = Annotated[
    Path | None,
    typer.Option(
        "--certificate",
        metavar="FILE",
        help="Write the proof, for 'opdt verify' to check on the same data.",
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print the result alone: no numbers, notes or bar.")
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show how value and bound met, step by step.")
]

# -- how the file is read ------------------------------------------------------------------------

Roles = Annotated[
    list[str] | None,
    typer.Option(
        "--role",
        metavar="COLUMN=ROLE",
        help="What to take a column for: 'txn_id=id', 'zip=categorical', 'when=date:hour'; "
        "see 'opdt columns'.",
        rich_help_panel=DATA,
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CELL",
        help="A cell that means no value: '9999', or 'age=999' for one column.",
        rich_help_panel=DATA,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="What stands between cells; 'tab' is one (guessed).",
        rich_help_panel=DATA,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="How letters are stored: 'utf-8' (guessed).", rich_help_panel=DATA
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        metavar="MARK",
        help="'.' or ',' before the fraction of a number (guessed).",
        rich_help_panel=DATA,
    ),
]

DateOrder = Annotated[
    str | None,
    typer.Option(
        metavar="ORDER",
        help="'dmy' or 'mdy': how to read 03/04/2024 (by the cells, where they tell).",
        rich_help_panel=DATA,
    ),
]

# -- what the expert knows -----------------------------------------------------------------------

StructureOption = Annotated[
    str | None,
    typer.Option(
        metavar="GROUPS",
        help="Groups of the levels, 'cat,num', or a file.",
        rich_help_panel=KNOWN,
    ),
]
GroupsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="TOML or JSON file with named groups of features.",
        rich_help_panel=KNOWN,
    ),
]
Direction = Annotated[
    list[str] | None,
    typer.Option(
        metavar="'AGE >='",
        help="The one direction of a feature: '>=', '<', '==', '!='.",
        rich_help_panel=KNOWN,
    ),
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS", help="Features the rule must use: 'a,b'.", rich_help_panel=KNOWN
    ),
]
Forbid = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="Features it must not use: 'a,b'.", rich_help_panel=KNOWN),
]
MinPrecision = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="At least this precision: 0.95.", rich_help_panel=WANTED),
]
MinCoverage = Annotated[
    float | None,
    typer.Option(
        metavar="ROWS",
        help="At least so many rows, or a share below 1 (0.05 for the objective 'precision').",
        rich_help_panel=WANTED,
    ),
]
MaxErrors = Annotated[
    float | None,
    typer.Option(metavar="ROWS", help="At most so many errors.", rich_help_panel=WANTED),
]

MaxCoverage = Annotated[
    float | None,
    typer.Option(
        metavar="ROWS", help="At most so many rows, or a share below 1.", rich_help_panel=WANTED
    ),
]
Per = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LIMIT",
        help="A limit in every segment: 'region precision>=0.8', 'month coverage<=200', "
        "'shop errors<=5'.",
        rich_help_panel=WANTED,
    ),
]
ParityOption = Annotated[
    list[str] | None,
    typer.Option(
        "--parity",
        metavar="LIMIT",
        help="How far groups may differ: 'sex difference<=0.1', 'sex ratio>=0.8', "
        "'sex recall difference<=0.05'.",
        rich_help_panel=WANTED,
    ),
]

# -- rows that the search must not see -----------------------------------------------------------

TestRows = Annotated[
    str | None,
    typer.Option(
        metavar="DATA",
        help="Rows the search must not see, in a file of their own.",
        rich_help_panel=UNSEEN,
    ),
]
HoldOut = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Keep this share of the rows unseen, such as 0.3.",
        rich_help_panel=UNSEEN,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Seed of all that is random, such as which rows '--hold-out' takes.",
        rich_help_panel=UNSEEN,
    ),
]
