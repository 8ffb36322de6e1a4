import pytest

from hebbgraph.text.candidates import MAX_NAMES, proposals
from hebbgraph.text.shapes import languages_of
from hebbgraph.text.tokens import phrase_key, tokenize


def keys(text, *kinds, title=""):
    """Return the keys of these kinds, or of all, by kind and then in reading order."""
    found = proposals(text, title, spoken=languages_of(tokenize(text), text))
    return [key for kind in kinds or found for key in found.get(kind, [])]


def names(text):
    return sorted(keys(text, "name", "capital", "opener"))


def test_titles_also_without_parenthesis_and_up_to_a_comma():
    assert keys("", "title", title="Angi Vera (film)") == ["angi vera film", "angi vera"]
    assert keys("", "title", title="Paris, Texas") == ["paris texas", "paris"]
    assert keys("", "title", title="Ash, Moss and Fenn") == ["ash moss and fenn"]
    assert keys("", "title", title="1984") == []


def test_given_tags_are_normalised():
    found = proposals("", tags=["The Synaptic Plasticity", "?", "LTP"])
    assert found == {"given": ["synaptic plasticity", "ltp"]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a film by Pál Gábor", ["pal gabor"]),
        ("at the University of California now", ["university of california"]),
        ("met Ursula von der Leyen", ["ursula von der leyen"]),
        ("read The Lord Of The Rings", ["lord of the rings"]),
        ("Then J. K. Rowling and St. Louis", ["j k rowling", "st louis"]),
        ("by Mr. Smith of Oslo", ["smith of oslo"]),
        ("saw Spider-Man twice", ["spider man"]),
        ("In 1979 he rose. He left.", []),
        ("if foo_bar is os.path_sep", ["foo_bar", "os path_sep"]),
        ("The Beatles played. They left.", ["beatles"]),
        ("when Will Smith spoke", ["will smith", "smith"]),
        ("In Berlin it rained", ["berlin"]),
        ("on Monday in July", []),
        ("an iPhone from AT&T", ["iphone", "at&t"]),
        ("Germany's Angela Merkel", ["germany angela merkel", "germany", "angela merkel"]),
        ("at Super Bowl 50 again", ["super bowl 50", "super bowl"]),
        ("the U.S. Army and AC/DC", ["us army", "army", "ac dc"]),
        ("Bread is good, bread is life", []),
        ("ERR-1234 in foo_bar v2.3.1 near os.path", ["err-1234", "foo_bar", "v2.3.1"]),
        ("Роман «Война и мир» Толстого", ["роман", "война", "толстого"]),
        ("στην Αθήνα ο Γιώργος Σεφέρης", ["αθηνα", "γιωργοσ σεφερησ"]),
    ],
)  # fmt: skip
def test_names(text, expected):
    assert names(text) == sorted(expected)


def test_a_heading_in_capitals_is_not_one_giant_name():
    found = keys("THE HISTORY OF THE ROMAN EMPIRE IN LATE ANTIQUITY", "name")
    assert "roman empire" in found
    assert max(len(key.split()) for key in found) <= 2


def test_a_long_headline_is_split_into_names():
    headline = "Members of the Board of Trustees of the Royal Museum of Fine Arts of Oslo Resign"
    expected = ["members", "board", "trustees", "royal museum", "fine arts", "oslo resign"]
    assert names(headline) == sorted(expected)


def test_a_word_that_only_opens_sentences_is_an_opener():
    text = "Gábor spoke. - Adding (Norbert wept) to Vera. Vera, Marit and Ines: Bela left. “Imre”"
    assert keys(text, "opener") == ["gabor", "adding", "imre"]
    assert keys(text, "capital") == ["norbert", "vera", "marit", "ines", "bela"]
    assert keys("By default, Installing it. So Learned Hand met Hand", "opener") == ["installing"]


@pytest.mark.parametrize(
    "text",
    [
        "see https://Docs.Example.org/The_Guide for (www.Example.com)",
        "[here](https://example.org/Main_Page) by Ann.Lee@Mail.Example.org",
        "in ./Setup.py, /etc/Fstab and C:\\\\Temp\\\\Logs",
        '<div class="Wide"> &nbsp; <Span>',
        "see Table 2, Figure 3, Step 4, and True, None, NULL or TODO",
    ],
)
def test_links_and_markup_are_not_tags(text):
    assert names(text) == []


def test_only_noun_phrases_of_english_are_terms():
    text = "you need to apply for the state pension if you are eligible for a home loan and it is"
    assert set(keys(text, "term")) == {"state pension", "home loan"}
    assert set(keys(text, "mention")) == {"pension", "loan"}
    assert keys(text + " . a pension", "noun") == ["pension"]


def test_instructions_are_english_and_their_verbs_are_not_terms():
    text = "you can't inherit this if you reached your pension age while they would claim"
    assert keys(text, "term", "mention") == ["pension age", "age"]


def test_verbs_and_adverbs_are_not_terms():
    assert keys("this was for the badly drawn", "term", "mention") == ["drawn"]
    assert keys("it is without changing", "term", "mention") == []


def test_a_word_of_a_longer_name_has_the_kind_of_a_single_word():
    text = "it ended in Season 2, when Germany's Angela Merkel met Training 3"
    expected = ["season 2", "germany angela merkel", "angela merkel", "training 3"]
    assert keys(text, "name") == expected
    assert keys(text, "capital") == ["season", "germany"]
    assert keys(text, "opener") == ["training"]


def test_a_word_in_capitals_and_in_lower_case_is_not_an_acronym():
    assert names("the error was an ERROR, NASA said") == ["nasa"]


def test_a_long_title_names_what_it_holds():
    title = "What the letters of Ada Lovelace tell her friends about engines"
    assert "ada lovelace" in keys("", title=title)


def test_short_words_of_unknown_languages_are_not_terms():
    assert set(keys("koira ja kissa on nyt talo", "term")) >= {"koira", "kissa", "talo"}


def test_a_heading_line_does_not_run_into_the_sentence_below():
    assert names("Getting Started\nHebbgraph learns.") == ["getting started", "hebbgraph"]


def test_wrapped_lines_do_not_cut_names():
    text = "It was in the long and cold winter that they moved to the city of New\nYork for good."
    assert "new york" in names(text)


def test_lower_case_text_gives_terms():
    text = (
        "the laminar boundary layer on a flat plate was studied . the boundary layer "
        "was found to thicken where heat transfer is strong ."
    )
    found = keys(text, "term")
    assert {"boundary layer", "heat transfer", "flat plate"} <= set(found)
    assert found[0] == "boundary layer"
    assert len(found) <= 24
    assert not {"the", "was", "of"} & set(found)


def test_a_chunk_with_names_needs_no_terms():
    assert not keys("Ada Lovelace met Charles Babbage in London with some friends", "term")


def test_german_nouns_are_terms_but_not_names():
    text = "Der Hund und die Katze sind nicht im Haus, das Angela Merkel von der Stadt kaufte."
    assert names(text) == ["angela merkel", "angela merkel von der stadt"]
    assert {"hund", "katze", "haus"} <= set(keys(text, "term"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("长江是中国最长的河流。", {"长 江", "河 流"}),
        ("《红楼梦》的作者是曹雪芹。", {"红 楼 梦", "作 者", "曹 雪 芹"}),
        ("阿尔伯特·爱因斯坦在苏黎世", {"阿 尔 伯 特 爱 因 斯 坦", "苏 黎 世"}),
        ("東京タワーは東京にあります。", {"東 京", "タ ワ ー"}),
        ("レオナルド・ダ・ヴィンチが描いた", {"レ オ ナ ル ド ダ ヴ ィ ン チ"}),
        ("北京的iPhone13手机", {"iphone13", "北 京", "手 机"}),
        ("نهر النيل في مصر طويل", {"نهر النيل", "مصر طويل"}),
        ("गंगा नदी भारत में बहती है", {"गंगा नदी", "भारत"}),
        ("ประเทศไทย", {"ป ร ะ เ", "ท ศ ไ ท ย"}),
    ],
)
def test_scripts_without_capitals(text, expected):
    assert expected <= set(keys(text))


def test_repeated_characters_inside_a_long_segment_are_found():
    text = "国家突触研究中心宣布。大学突触实验室。"
    assert "突 触" in keys(text, "term")


def test_each_key_once_with_its_first_reason():
    found = proposals("Angi Vera is a film. Angi Vera won.", "Angi Vera", ["angi vera"])
    assert [kind for kind in found if "angi vera" in found[kind]] == ["title"]
    every = [key for keys in found.values() for key in keys]
    assert len(set(every)) == len(every)


def test_every_candidate_is_a_key():
    text = "The A-Team of R&D (ABC) met J. in 北京 — Толстой's «Дом», ERR-1. " * 3
    found = keys(text, title="A Title, The (x)")
    assert found
    assert list(map(phrase_key, found)) == found


def test_candidates_of_one_chunk_are_bounded():
    listing = " ".join(f"w{number}" for number in range(5 * MAX_NAMES))
    assert len(keys(listing)) <= MAX_NAMES


@pytest.mark.parametrize("text", ["", " \n ", "?!...", "🎉" * 100, "\u200d" * 1000, "\ud800"])
def test_nothing_to_tag(text):
    assert proposals(text, text) == {}


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("Petrel is a barque.", "petrel"),
        ("The Petrel, launched in 1871, was one of the last barques.", "petrel"),
        ("“The Lord of the Rings” is a novel by Tolkien.", "lord of the rings"),
        ("J. K. Rowling (born 31 July 1965) is an author.", "j k rowling"),
        ("Die Elbe ist ein Strom, und der Strom ist nicht kurz.", "elbe"),
        ("Émile Zola est un écrivain, né dans le sud de la France.", "emile zola"),
        ("Petrel is sinking. It was a barque.", None),  # says nothing of what it is
        ("Petrel sank. She was a barque.", None),  # another sentence
        ("In Berlin there is a river.", None),
        ("In Berlin, Petrel (1871) is a barque.", None),
        ("He is a captain.", None),
        ("Petrel (c. 1871; see below) is a barque.", "petrel"),  # no sentence ends in brackets
        ("Petrel that sails is a barque.", "petrel"),  # and a clause is no part of a name
        ("Escape from the Dark (1976) is a film.", "escape from the dark"),
        ("The Petrel museum is a house.", "petrel museum"),
        ("is a", None),
        ("", None),
    ],
)
def test_an_untitled_text_defines_its_subject(text, subject):
    assert keys(text, "subject") == ([] if subject is None else [subject])


@pytest.mark.parametrize(
    ("text", "subjects"),
    [
        ("Ada Moss Renn (born 1871) was a sailor.", ["ada moss renn", "ada renn"]),
        ("Ada Moss Renn, Jr. (born 1871) was a sailor.", ["ada moss renn", "ada renn"]),
        ("Ada Moss Renn Jr. (born 1871) was a sailor.", ["ada moss renn jr", "ada renn"]),
        ("Ada Moss Renn is a harbour.", ["ada moss renn"]),  # no dates of a life
        ('Ada "Addie" Renn (born 1871) was a sailor.', ["ada", "ada renn", "addie renn"]),
        ("Renn (born 1871), better known as Petrel, is a sailor.", ["renn", "petrel"]),
        ("Renn, known by her stage name Ada Moss, is an actress.", ["renn", "ada moss"]),
        ("Renn, known for her voice, is an actress.", ["renn"]),
        (
            "Moss Renn of Leith in Hemp is a sailor.",
            ["moss renn of leith", "moss renn of leith in hemp"],
        ),
    ],
)
def test_other_names_in_a_definition_are_subjects_too(text, subjects):
    assert keys(text, "subject") == subjects


def test_a_text_with_a_fitting_title_has_no_subject():
    assert keys("Petrel is a barque.", "title", "subject", title="Ships") == ["ships"]


@pytest.mark.parametrize(
    ("title", "titles", "subjects", "given"),
    [
        ("Annual report, 1999", [], ["petrel"], ["annual report 1999", "annual report"]),
        ("Petrels", ["petrels"], [], []),  # the text tells of it
        ("Voyager", ["voyager"], [], []),  # "voyages": the same first letters
        ("Oil", ["oil"], [], []),  # too short to be looked for
        ("Overview", [], ["petrel"], ["overview"]),
    ],
)
def test_a_title_that_the_text_contradicts_is_a_given_tag(title, titles, subjects, given):
    text = "The Petrel (launched 1871) is a barque. Three voyages of the Petrel are known."
    found = proposals(text, title)
    expected = {"title": titles, "subject": subjects, "given": given}
    assert {kind: found.get(kind, []) for kind in expected} == expected


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Dvorak", "Antonín Dvořák was a composer of dances."),
        ("Dvořák", "Antonin Dvorak was a composer of dances."),
        ("Юрий Гагарин", "Yuri Gagarin was a pilot who circled the earth."),
    ],
)
def test_a_title_in_other_letters_fits(title, text):
    assert keys(text, "title", "subject", title=title) == [phrase_key(title)]


def test_years_and_unrelated_acronyms_do_not_make_a_title_fit():
    text = "The Marsh Festival is a fair of boat builders."
    for title in ("NASA", "Meeting 2019", "Model X9"):
        assert keys(text, "title", "subject", title=title) == ["marsh festival"]


def test_a_word_that_only_opens_a_text_does_not_contradict_a_title():
    assert keys("Risk is a part of business.", "title", "subject", title="Bankers") == ["bankers"]
