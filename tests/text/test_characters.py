import pytest

from hebbgraph.text.characters import fold


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Gábor", "gabor"),
        ("Ga\u0301bor", "gabor"),
        ("Straße", "strasse"),
        ("ŁÓDŹ Ærø", "lodz aero"),
        ("ﬁlm Ｆｉｌｍ", "film film"),
        ("Ёлка и йод", "елка и йод"),
        ("Толсто\u0301й", "толстой"),
        ("Ὅμηρος ΌΜΗΡΟΣ", "ομηροσ ομηροσ"),
        ("مُحَمَّد", "محمد"),
        ("أحمد إيران آسيا", "احمد ايران اسيا"),
        ("القـــاهرة", "القاهرة"),
        ("هدى", "هدي"),
        ("शिक्षा ज़मीन", "शिक्षा ज़मीन"),
        ("שָׁלוֹם", "שלום"),
        ("ｶﾞｲﾄﾞ", "ガイド"),
        ("น้ำ", "น้ำ"),
        ("١٩٧٩ १९७९", "1979 1979"),
        ("O’Brien", "o'brien"),
        ("soft\u00adhyphen \u200fright", "softhyphen right"),
        ("6½", "6 1⁄2"),
        ("İstanbul ısı", "istanbul isi"),
    ],
)
def test_spellings_of_the_same_word_fold_alike(text, folded):
    assert fold(text) == folded
    assert fold(fold(text)) == folded


def test_nukta_survives_in_either_normal_form():
    assert fold("ज\u093cमीन") == fold("\u095bमीन")
