# ruff: noqa: E501
"""Numbers, units and signs: the chunk that writes what is asked for is first, whatever joins it."""

from collections.abc import Sequence

import pytest
from ranking import assert_first

CASES = [
    # Dates, times, scores, sections: the order of the parts decides.
    ("What burned on 2026-04-03?", "On 2026-04-03 the barn burned.", ["On 2026-03-04 the mill burned."]),
    ("What burned on 2026/04/03?", "On 2026-04-03 the barn burned.", ["On 2026-03-04 the mill burned."]),
    ("2026.04.03", "Log of 2026-04-03: a barn burned.", ["Log of 2026-03-04: 4 mills, 3 barns."]),
    ("20260403", "Log of 2026-04-03: a barn burned.", ["Log of 2026-03-04: a mill burned."]),
    ("Was geschah am 03.04.2026?", "Am 03.04.2026 brannte die Scheune.", ["Am 04.03.2026 brannte die Mühle."]),
    ("Qué pasó el 3/4/2026", "El 3/4/2026 ardió el granero.", ["El 4/3/2026 ardió el molino."]),
    ("what failed at 2026-04-03 10:20", "2026-04-03T10:20:00Z the pump failed.", ["2026-03-04T20:10:00Z the pump failed."]),
    ("train at 20:10", "Trains leave at 20:10 and 05:14.", ["Trains leave at 10:20 and 14:05."]),
    ("поезд в 20:10", "Поезда отходят в 20:10 и 05:14.", ["Поезда отходят в 10:20 и 14:05."]),
    ("列車は20:10に出ますか", "列車は20:10と05:14に出ます。", ["列車は10:20と14:05に出ます。"]),
    ("Which match ended 1-3?", "The match ended 1-3 against the Gulls.", ["The match ended 3-1 for the Gulls."]),
    ("Which match ended 1–3?", "The match ended 1-3 against the Gulls.", ["The match ended 3–1 for the Gulls."]),
    ("section 3(12)", "Section 3(12) allows fishing.", ["Section 12(3) forbids smoking."]),
    ("What does 4.2.1 say?", "4.2.1 Lamps are lit at dusk.", ["4.1.2 Lamps are cleaned on Friday."]),
    ("valve 12-34-56", "Valve 12-34-56 is closed.", ["Valve 56-34-12 is open.", "Valve 34-12-56 leaks."]),
    ("Which lens is f/2.8 at 24-70?", "The 24-70 lens is heavy.", ["The 70-24 lens is light."]),
    # The same number with and without what joins it.
    ("978-3-16-148410-0", "The book 978-3-16-148410-0 is lent.", ["The book 978-0-16-148410-3 is lost."]),
    ("9783161484100", "The book 978-3-16-148410-0 is lent.", ["The book 978-0-16-148410-3 is lost."]),
    ("978-3-16-148410-0", "The book 9783161484100 is lent.", ["The book 978-0-16-148410-3 is lost."]),
    ("Who has 555-123-4567?", "Ada answers at (555) 123-4567.", ["Bo answers at (555) 456-1237."]),
    ("+49 30 1234567", "Der Laden hat die Nummer +49-30-1234567.", ["Der Hof hat die Nummer +49-30-1234576."]),
    ("call 5551234567", "Ada answers at 555 123 4567.", ["Bo answers at 555 123 4576."]),
    ("DE89370400440532013000", "IBAN DE89 3704 0044 0532 0130 00 is ours.", ["IBAN DE89 3704 0044 0532 0130 01 is theirs."]),
    ("GB29NWBK60161331926819", "IBAN GB29 NWBK 6016 1331 9268 19 is ours.", ["IBAN GB29 NWBK 6016 1331 9268 91 is theirs."]),
    ("€1,250", "The fee is €1,250.00 a year.", ["The fee is €1,520.00 a year."]),
    ("1250 €", "Der Beitrag ist 1.250,00 €.", ["Der Beitrag ist 1.520,00 €."]),
    ("1 250 €", "The fee is €1,250.00 a year.", ["The fee is €1,520.00 a year.", "1 of 250 pays."]),
    ("map 1:25,000", "The map is 1:25 000.", ["The map is 1:50 000."]),
    ("3.4.2026", "Am 03.04.2026 brannte die Scheune.", ["Am 04.03.2026 brannte die Mühle."]),
    # Units and versions, glued or not.
    ("7 am", "Doors open at 7 am.", ["Doors open at 7 pm."]),
    ("2x4x300", "The plank is 2 × 4 × 300 cm.", ["The plank is 4 × 2 × 300 cm."]),
    ("10 x 30 cm", "A frame of 10x30 cm.", ["A frame of 10 x 20 cm.", "A frame of 30 x 10 cm."]),
    ("10x30", "A frame of 10 × 30 cm.", ["A frame of 10x20 cm.", "A frame of 30x10 cm."]),
    ("10x30cm", "A frame of 10 x 30 cm.", ["A frame of 10 x 20 cm.", "A frame of 30x10cm."]),
    ("10 x 30 cm", "A frame of 10x30cm.", ["A frame of 10 x 20 cm.", "A frame of 10x20cm."]),
    ("10x30", "A frame of 10x30cm.", ["A frame of 10x20cm.", "A frame of 30 x 10 cm."]),
    ("10 x 30 cm", "A frame of 10x30cm.", ["A frame of 10 x 20 cm.", "A frame of 30x10cm."]),
    ("10x30cm", "A frame of 10 X 30 cm.", ["A frame of 10x20cm.", "A frame of 30 X 10 cm."]),
    ("M8×60", "Use M8x60 bolts.", ["Use M8x40 bolts."]),
    ("M8 x 60 bolts", "Use M8x60 bolts.", ["Use M8 x 80 bolts.", "Use M6×60 bolts."]),
    ("hardware", "The hard\u2011ware rusts.", ["The ware is hard."]),
    ("3.5GHz", "The clock runs at 3.5 GHz.", ["The bus takes 3.5 hours at 5 GHz."]),
    ("3.5 GHz", "The clock runs at 3.5GHz.", ["The clock runs at 5.3GHz."]),
    ("3,5 GHz", "Der Takt ist 3,5GHz.", ["Der Takt ist 5,3GHz."]),
    ("5 kg", "The pack weighs 5kg.", ["The pack has 5 straps and 3 kg of rope."]),
    ("5kg", "The pack weighs 5 kg and has 3 lb of rope.", ["The pack weighs 3 kg and has 5 lb of rope."]),
    ("мешок 5кг", "Мешок весит 5 кг, верёвка 3 м.", ["Мешок весит 3 кг, верёвка 5 м."]),
    ("at 20 °C", "Store it at 20°C for 8 days.", ["Store it at 8°C for 20 days."]),
    ("version 2.1", "v2.1 adds refunds.", ["Version 1.2 adds carts."]),
    ("What does v2.1 add?", "Version 2.1 brings refunds.", ["Version 1.2 brings carts.", "v2.0 adds carts."]),
    ("Python 3.11", "It needs Python3.11.", ["It needs Python3.9 since 11 May.", "Python likes 3.12."]),
    ("gpt 3.5", "It asks GPT-3.5 first.", ["It asks GPT-4 first, 3 or 5 times."]),
    # A code that hardly any text holds outweighs common words.
    ("What does error E4305 mean?", "E4305: the pump stopped.", ["Error X17 means that a valve leaks.", "An error means a reset."]),
    # Signs that are part of a name, and signs that are words.
    ("What is C?", "C is compiled to machine code; pointers are everywhere.", ["Objective-C has messages.", "C++ has classes.", "C# has events."]),
    ("What is C++?", "C++ has classes and many other things.", ["C has structs.", "C# has events."]),
    ("What is C#?", "C# has events and many other things.", ["C has structs.", "C++ has classes."]),
    ("What is F#?", "F# has unions and many other things.", ["F is a note.", "C# has events."]),
    ("What is .NET?", "The program runs on .NET and nothing else is needed here.", ["The net is full of herring."]),
    ("Objective-C", "Objective-C has messages.", ["The objective of plan C is clear.", "C has structs."]),
    ("ObjectiveC", "Objective-C has messages.", ["C has structs."]),
    ("nodejs", "node.js runs on the server.", ["A node of the net runs dry.", "The js folder is empty."]),
    ("node.js", "Nodejs runs on the server.", ["A node of the net runs dry."]),
    ("What is Java?", "Java is compiled to bytecode, and its programs run on many machines.", ["JavaScript runs in browsers."]),
    ("🦊", "The mascot is 🦊 and lives in the forest.", ["The mascot is 🐻 and lives in the forest."]),
    ("what does 👍🏽 mean", "👍 is a yes.", ["👎 is a no."]),
    # A time with and without a zero.
    ("Which train leaves at 9:30?", "This train leaves at 09:30 from platform 9.", ["This train leaves at 19:30 from platform 9.", "This train leaves at 9:03 from platform 30."]),
    ("Which train leaves at 09:05?", "This train leaves at 9:05.", ["This train leaves at 19:05.", "This train leaves at 5:09."]),
    # Acronyms that are function words in lower case.
    ("What is the budget of the IT department?", "The IT department has a budget of 40,000.", ["The HR department has a budget, and it is 20,000."]),
    ("What does the WHO advise?", "The WHO advises boiling the water.", ["The UN advises filtering the water.", "Those who advise it boil the water."]),
    ("Who was Henry VI?", "Henry VI founded Eton and reigned for a long time in the fifteenth century.", ["Henry VIII had six wives."]),
    ("Who advises boiling it?", "The UN advises boiling it, the sea too.", ["The WHO and the IT department advise."]),
    ("What leaves at 9:30 AM?", "The ferry leaves at 9:30.", ["The AM radio plays at noon."]),
    # Words that a line's end or an invisible mark cuts.
    ("climate", "The sea takes up the gas driving cli-\nmate change.", ["The mate of the ship drives well."]),
    ("information", "This infor-\n   mation is old.", ["The formation of rocks is old."]),
    ("Informationen", "Diese Infor-\nmationen sind alt.", ["Diese Formationen sind alt."]),
    ("hidden valve", "The hid\u200bden valve is under the floor.", ["The valve is open.", "The den is under the floor."]),
    ("hidden valve", "The hid\u00adden valve is under the floor.", ["The valve is open."]),
    ("hidden valve", "The hid\u00ad\nden valve is under the floor.", ["The valve is open."]),
    ("hidden valve", "The hid\u2060den\ufeff valve is under the floor.", ["The valve is open."]),
]  # fmt: skip


@pytest.mark.parametrize(("question", "right", "others"), CASES)
def test_what_writes_the_number_or_sign_is_first(question: str, right: str, others: Sequence[str]):
    assert_first(question, right, others)
