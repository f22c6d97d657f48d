"""The paper's two credit datasets."""

from __future__ import annotations

from opdt.datasets.source import (
    DatasetSource,
    FileLayout,
    archive_urls,
    categorical,
    numeric,
    target,
)

AUSTRALIAN = DatasetSource(
    name="australian",
    title="Australian",
    file="crx.data",
    sha256="fff49bc186cbddb3ace7371d40d9fbbb3af4f126019c13ff3f562249b1454f4d",
    urls=archive_urls("credit-screening/crx.data", "27/credit+approval"),
    fields=(
        *categorical("a1"),
        *numeric("a2", "a3"),
        *categorical("a4", "a5", "a6", "a7"),
        *numeric("a8"),
        *categorical("a9", "a10"),
        *numeric("a11"),
        *categorical("a12", "a13"),
        *numeric("a14", "a15"),
        *target("a16", {"-": "rejected", "+": "approved"}),
    ),
    about=(
        "Applications for a credit card; column names and levels were replaced by symbols "
        "before publication. Class 'rejected' is '-' in the raw file, 'approved' is '+'."
    ),
    citation=(
        "Quinlan, J. R. (1987). Credit Approval. UCI Machine Learning Repository. "
        "https://doi.org/10.24432/C5FS30"
    ),
)

GERMAN = DatasetSource(
    name="german",
    title="German",
    file="german.data",
    sha256="b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
    urls=archive_urls("statlog/german/german.data", "144/statlog+german+credit+data"),
    layout=FileLayout.SPACES,
    fields=(
        *categorical(
            "checking_account",
            levels={"A11": "< 0 DM", "A12": "0-200 DM", "A13": ">= 200 DM", "A14": "none"},
        ),
        *numeric("duration_months"),
        *categorical(
            "credit_history",
            levels={
                "A30": "none taken or all repaid",
                "A31": "all repaid at this bank",
                "A32": "repaid so far",
                "A33": "past delays",
                "A34": "critical or other credits",
            },
        ),
        *categorical(
            "purpose",
            levels={
                "A40": "new car",
                "A41": "used car",
                "A42": "furniture",
                "A43": "radio or television",
                "A44": "appliances",
                "A45": "repairs",
                "A46": "education",
                "A47": "vacation",
                "A48": "retraining",
                "A49": "business",
                "A410": "other",
            },
        ),
        *numeric("credit_amount"),
        *categorical(
            "savings",
            levels={
                "A61": "< 100 DM",
                "A62": "100-500 DM",
                "A63": "500-1000 DM",
                "A64": ">= 1000 DM",
                "A65": "unknown or none",
            },
        ),
        *categorical(
            "employed_since",
            levels={
                "A71": "unemployed",
                "A72": "< 1 year",
                "A73": "1-4 years",
                "A74": "4-7 years",
                "A75": ">= 7 years",
            },
        ),
        *numeric("installment_rate"),
        *categorical(
            "personal_status",
            levels={
                "A91": "male divorced or separated",
                "A92": "female not single",
                "A93": "male single",
                "A94": "male married or widowed",
                "A95": "female single",
            },
        ),
        *categorical(
            "other_debtors", levels={"A101": "none", "A102": "co-applicant", "A103": "guarantor"}
        ),
        *numeric("residence_since"),
        *categorical(
            "property",
            levels={
                "A121": "real estate",
                "A122": "savings agreement or life insurance",
                "A123": "car or other",
                "A124": "unknown or none",
            },
        ),
        *numeric("age"),
        *categorical(
            "other_installments", levels={"A141": "bank", "A142": "stores", "A143": "none"}
        ),
        *categorical("housing", levels={"A151": "rent", "A152": "own", "A153": "free"}),
        *numeric("existing_credits"),
        *categorical(
            "job",
            levels={
                "A171": "unemployed or unskilled non-resident",
                "A172": "unskilled resident",
                "A173": "skilled",
                "A174": "management or self-employed",
            },
        ),
        *numeric("dependents"),
        *categorical("telephone", levels={"A191": "none", "A192": "yes"}),
        *categorical("foreign_worker", levels={"A201": "yes", "A202": "no"}),
        *target("credit_risk", {"2": "bad", "1": "good"}),
    ),
    about=(
        "Loans of a German bank in Deutsche Mark. Class 'bad' is 2 in the raw file, 'good' is 1; "
        "the paper prints the minority 'bad' first."
    ),
    citation=(
        "Hofmann, H. (1994). Statlog (German Credit Data). UCI Machine Learning Repository. "
        "https://doi.org/10.24432/C5NC77"
    ),
)
