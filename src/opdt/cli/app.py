"""The commands, their common options and exit codes."""

from __future__ import annotations

from typing import Annotated

import typer

import opdt
from opdt.cli.alternatives import alternatives
from opdt.cli.apply import apply
from opdt.cli.columns import columns
from opdt.cli.datasets import datasets
from opdt.cli.demo import demo
from opdt.cli.engines import engines
from opdt.cli.explain import explain
from opdt.cli.export import export
from opdt.cli.fit import fit
from opdt.cli.group import Group, examples
from opdt.cli.path import path
from opdt.cli.report import report
from opdt.cli.reproduce import reproduce
from opdt.cli.significance import significance
from opdt.cli.structure import structure
from opdt.cli.studio import studio
from opdt.cli.verify import verify

app = typer.Typer(
    name="opdt",
    cls=Group,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\n\n".join(
        [
            "Exit codes: 0 done; 2 the input cannot be used; 3 done, but there is no rule; "
            "130 interrupted; 1 a bug.",
            examples("opdt demo", "opdt fit patients.csv --target outcome --json rule.json"),
        ]
    ),
)

app.command(epilog=examples("opdt demo", "opdt demo --depth 3"))(demo)
app.command(
    epilog=examples(
        "opdt fit patients.csv --target outcome",
        "opdt fit patients.parquet --target outcome --label ill --depth 3 --w 5",
        "opdt fit patients.csv --target outcome --structure cat,num --json rule.json",
        "opdt fit 'claims/*.parquet' --target fraud --memory-limit 2GB",
        "opdt fit patients.csv --target outcome --certificate rule.cert",
    )
)(fit)
app.command(
    epilog=examples(
        "opdt columns patients.csv --target outcome",
        "opdt columns patients.csv --target outcome --role patient_no=id --missing 9999",
    )
)(columns)
app.command(
    epilog=examples(
        "opdt apply rule.json new.csv > marked.csv",
        "opdt apply rule.json new.parquet -o marked.parquet --column high_risk",
        "opdt apply rule.json 'claims/*.parquet' -o marked",
    )
)(apply)
app.command(
    epilog=examples(
        "opdt explain rule.json",
        "opdt explain rule.json patients.csv --target outcome",
    )
)(explain)
app.command(
    epilog=examples(
        "opdt export rule.json --to sql --dialect postgres",
        "opdt export rule.json --to pmml -o rule.pmml",
    )
)(export)
app.command(
    epilog=examples(
        "opdt verify rule.cert patients.csv",
    )
)(verify)
app.command(
    epilog=examples(
        "opdt alternatives patients.csv --target outcome --within 1%",
        "opdt alternatives patients.csv --target outcome --limit 5 --max-overlap 0.5",
    )
)(alternatives)
app.command(epilog=examples("opdt engines"))(engines)
app.command(
    epilog=examples(
        "opdt report patients.csv --target outcome --hold-out 0.3 -o report.html",
        "opdt report train.csv --target outcome --test test.csv --permutations 999",
    )
)(report)
app.command(
    name="test",
    epilog=examples(
        "opdt test patients.csv --target outcome",
        "opdt test patients.csv --target outcome --hold-out 0.3 --strata hospital",
    ),
)(significance)
app.command(
    epilog=examples(
        "opdt path patients.csv --target outcome --label ill",
        "opdt path patients.csv --target outcome --frontier --max-errors 20 --plot path.png",
    )
)(path)
app.command(
    epilog=examples(
        "opdt studio",
        "opdt studio patients.csv --target outcome",
        "OPDT_STUDIO_PASSWORD=… opdt studio --host 0.0.0.0 --no-browser",
    )
)(studio)
app.add_typer(structure, name="structure")
app.add_typer(datasets, name="datasets")
app.command(
    epilog=examples(
        "opdt reproduce",
        "opdt reproduce training test --splits 10 --seeds 5 --jobs 2",
        "opdt reproduce structures --datasets heart_disease --formulation path --time-limit 600",
        "opdt reproduce all --quick --jobs 2 --out quick",
    )
)(reproduce)


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an unexpected error comes from.")
    ] = False,
) -> None:
    """Find the single best rule in a table, and prove that it is the best."""
    Group.debug = debug
    if version:
        typer.echo(f"opdt {opdt.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)
