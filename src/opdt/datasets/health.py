"""The paper's healthcare datasets whose raw files are plain tables of measurements."""

from __future__ import annotations

from opdt.datasets.source import (
    DatasetSource,
    FileLayout,
    archive_urls,
    categorical,
    identifier,
    ignored,
    numeric,
    target,
)

_NUCLEUS = (
    "radius",
    "texture",
    "perimeter",
    "area",
    "smoothness",
    "compactness",
    "concavity",
    "concave_points",
    "symmetry",
    "fractal_dimension",
)

BLOOD_TRANSFUSION = DatasetSource(
    name="blood_transfusion",
    title="Blood Transfusion",
    file="transfusion.data",
    sha256="96c8e1091b9c037bcaf25a19b24b49d07771cd88689ffd273e056e9e8845ffe7",
    urls=archive_urls("blood-transfusion/transfusion.data", "176/blood+transfusion+service+center"),
    header=True,
    fields=(
        *numeric("months_since_last", "donations", "blood_donated", "months_since_first"),
        *target("donated", {"0": "no", "1": "yes"}),
    ),
    about=(
        "Donors of a blood transfusion centre in Taiwan; `blood_donated` is in cubic "
        "centimetres. Class 'yes' (raw 1) gave blood in March 2007, 'no' (raw 0) did not."
    ),
    citation=(
        "Yeh, I.-C., Yang, K.-J. and Ting, T.-M. (2008). Blood Transfusion Service Center. "
        "UCI Machine Learning Repository. https://doi.org/10.24432/C5GS39"
    ),
)

BREAST_CANCER = DatasetSource(
    name="breast_cancer",
    title="Breast Cancer",
    file="wdbc.data",
    sha256="d606af411f3e5be8a317a5a8b652b425aaf0ff38ca683d5327ffff94c3695f4a",
    urls=archive_urls("breast-cancer-wisconsin/wdbc.data", "17/breast+cancer+wisconsin+diagnostic"),
    fields=(
        *ignored("id"),
        *target("diagnosis", {"M": "malignant", "B": "benign"}),
        *numeric(*(f"{s}_{name}" for s in ("mean", "error", "worst") for name in _NUCLEUS)),
    ),
    about=(
        "Cell nuclei in images of fine needle aspirates of breast masses: mean, standard error "
        "and worst value of ten measures. Class 'malignant' is M in the raw file, 'benign' is "
        "B; the paper prints the minority 'malignant' first."
    ),
    citation=(
        "Wolberg, W., Mangasarian, O., Street, N. and Street, W. (1993). Breast Cancer Wisconsin "
        "(Diagnostic). UCI Machine Learning Repository. https://doi.org/10.24432/C5DW2B"
    ),
)

CHRONIC_KIDNEY = DatasetSource(
    name="chronic_kidney",
    title="Chronic Kidney",
    file="chronic_kidney_disease.arff",
    sha256="0f3360c0e9239d3d211bfbbdedbe818e4569e6d7399e7398c9b464f6e8feeebe",
    by_hand=(
        "the archive serves it inside a RAR file: take it from "
        "https://archive.ics.uci.edu/dataset/336 and unpack it"
    ),
    layout=FileLayout.ARFF,
    missing_is_level=True,
    fields=(
        *numeric("age", "blood_pressure"),
        *categorical("specific_gravity", "albumin", "sugar", "red_blood_cells", "pus_cells"),
        *categorical("pus_cell_clumps", "bacteria", levels={"notpresent": "not present"}),
        *numeric("glucose", "urea", "creatinine", "sodium", "potassium", "hemoglobin"),
        *numeric("packed_cell_volume", "white_cell_count", "red_cell_count"),
        *categorical("hypertension", "diabetes", "coronary_artery_disease"),
        *categorical("appetite", "pedal_edema", "anemia"),
        *target("disease", {"notckd": "healthy", "ckd": "kidney disease"}),
    ),
    about=(
        "Blood and urine tests of patients of a hospital in Tamil Nadu. Class 'kidney disease' is "
        "ckd in the raw file, 'healthy' is notckd. As in the paper only a missing number drops a "
        "row; '?' stays as a level of the categorical columns."
    ),
    citation=(
        "Rubini, L., Soundarapandian, P. and Eswaran, P. (2015). Chronic Kidney Disease. UCI "
        "Machine Learning Repository. https://doi.org/10.24432/C5G020"
    ),
)

EARLY_STAGE_DIABETES = DatasetSource(
    name="early_stage_diabetes",
    title="Early Stage Diabetes",
    file="diabetes_data_upload.csv",
    sha256="7889d9d0beb7dd1ccc58da99f72763f16afb259b5dbbaa086f8195366ff66137",
    urls=archive_urls(
        "00529/diabetes_data_upload.csv", "529/early+stage+diabetes+risk+prediction+dataset"
    ),
    header=True,
    fields=(
        *numeric("age"),
        *categorical("gender", levels={"Male": "male", "Female": "female"}),
        *categorical(
            "polyuria",
            "polydipsia",
            "sudden_weight_loss",
            "weakness",
            "polyphagia",
            "genital_thrush",
            "visual_blurring",
            "itching",
            "irritability",
            "delayed_healing",
            "partial_paresis",
            "muscle_stiffness",
            "alopecia",
            "obesity",
            levels={"No": "no", "Yes": "yes"},
        ),
        *target("diabetes", {"Positive": "diabetic", "Negative": "healthy"}),
    ),
    about=(
        "Questionnaires of patients of a hospital in Sylhet, Bangladesh. Class 'diabetic' is "
        "Positive in the raw file, 'healthy' is Negative; the paper prints 'diabetic' first."
    ),
    citation=(
        "Islam, M. M. F. and others (2020). Early Stage Diabetes Risk Prediction. UCI Machine "
        "Learning Repository. https://doi.org/10.24432/C5VG8H"
    ),
)

FERTILITY = DatasetSource(
    name="fertility",
    title="Fertility",
    file="fertility_Diagnosis.txt",
    sha256="c04c6f1a676fa6c55fa6c5ee23f9c9a4cada8e64419850767900380aec91cdbb",
    urls=archive_urls("00244/fertility_Diagnosis.txt", "244/fertility"),
    fields=(
        *categorical(
            "season", levels={"-1": "winter", "-0.33": "spring", "0.33": "summer", "1": "autumn"}
        ),
        *numeric("age"),
        *categorical("childhood_disease", "accident", "surgery", levels={"0": "yes", "1": "no"}),
        *categorical(
            "high_fever", levels={"-1": "< 3 months ago", "0": "> 3 months ago", "1": "no"}
        ),
        *categorical(
            "alcohol",
            levels={
                "0.2": "several times a day",
                "0.4": "every day",
                "0.6": "several times a week",
                "0.8": "once a week",
                "1": "hardly ever",
            },
        ),
        *categorical("smoking", levels={"-1": "never", "0": "occasional", "1": "daily"}),
        *numeric("hours_sitting"),
        *target("diagnosis", {"N": "normal", "O": "altered"}),
    ),
    about=(
        "Volunteers who gave a semen sample; `age` (18 to 36 years) and `hours_sitting` (of a "
        "day) are scaled to 0..1. Class 'normal' is N in the raw file, 'altered' is O."
    ),
    citation=(
        "Gil, D. and Girela, J. (2012). Fertility. UCI Machine Learning Repository. "
        "https://doi.org/10.24432/C5Z01Z"
    ),
)

INDIAN_LIVER = DatasetSource(
    name="indian_liver",
    title="Indian Liver Patient",
    file="Indian Liver Patient Dataset (ILPD).csv",
    sha256="23d74e0035f319efff79ed2d71de63d5c771ce7ad748e79b98812b0224d60901",
    urls=archive_urls(
        "00225/Indian%20Liver%20Patient%20Dataset%20(ILPD).csv",
        "225/ilpd+indian+liver+patient+dataset",
    ),
    fields=(
        *numeric("age"),
        *categorical("gender", levels={"Male": "male", "Female": "female"}),
        *numeric("total_bilirubin", "direct_bilirubin", "alkaline_phosphatase"),
        *numeric("alanine_aminotransferase", "aspartate_aminotransferase"),
        *numeric("total_proteins", "albumin", "albumin_globulin_ratio"),
        *target("patient", {"1": "liver patient", "2": "healthy"}),
    ),
    about=(
        "Liver function tests from Andhra Pradesh, India. Class 'liver patient' is 1 in the raw "
        "file, 'healthy' is 2; the paper prints 'liver patient' first."
    ),
    citation=(
        "Ramana, B. and Venkateswarlu, N. (2012). ILPD (Indian Liver Patient Dataset). UCI "
        "Machine Learning Repository. https://doi.org/10.24432/C5D02C"
    ),
)

PARKINSONS = DatasetSource(
    name="parkinsons",
    title="Parkinsons",
    file="parkinsons.data",
    sha256="455009076cd278efb0b2fb9307c0682834c477fa582ca6c10367128dd7a1c6db",
    urls=archive_urls("parkinsons/parkinsons.data", "174/parkinsons"),
    header=True,
    fields=(
        *identifier("name"),
        *numeric("mdvp_fo_hz", "mdvp_fhi_hz", "mdvp_flo_hz"),
        *numeric("mdvp_jitter_percent", "mdvp_jitter_abs", "mdvp_rap", "mdvp_ppq", "jitter_ddp"),
        *numeric("mdvp_shimmer", "mdvp_shimmer_db", "shimmer_apq3", "shimmer_apq5", "mdvp_apq"),
        *numeric("shimmer_dda", "nhr", "hnr"),
        *target("status", {"1": "parkinson", "0": "healthy"}),
        *numeric("rpde", "dfa", "spread1", "spread2", "d2", "ppe"),
    ),
    about=(
        "Voice measures of 195 recordings of 31 people. Class 'parkinson' is 1 in the raw file, "
        "'healthy' is 0; the paper prints 'parkinson' first and counts `name`, the identifier of "
        "the recording, as its one categorical feature: keep_id=True adds it."
    ),
    citation=(
        "Little, M. (2007). Parkinsons. UCI Machine Learning Repository. "
        "https://doi.org/10.24432/C59C74"
    ),
)
