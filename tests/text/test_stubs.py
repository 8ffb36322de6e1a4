"""Stubs and boilerplate: what says little does not outrank what answers."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from hebbgraph import HebbianIndex


class Case(NamedTuple):
    """A question, a heading with hardly a text, and the passage that answers."""

    question: str
    heading: str
    stub: str
    title: str
    text: str


CASES = [
    Case(
        "How do I configure the cache size limit?",
        "Configuring the cache",
        "Configuring the cache: see the next page for details.",
        "Settings reference",
        "The server keeps recent pages in memory. To configure how much it may hold, set the "
        "cache size limit in the configuration file; values are megabytes, and the default is "
        "64. When the limit is reached, the oldest pages go first. A restart is needed after "
        "a change, and the log tells what was read.",
    ),
    Case(
        "Which retry policy applies when an upload fails?",
        "Retry policy",
        "Retry policy. This section is still to be written.",
        "Uploads",
        "Files are sent in parts of five megabytes. When an upload fails half way, the retry "
        "policy of the bucket applies: three attempts, each after twice the time of the one "
        "before. Parts that have arrived are not sent again. An administrator can change the "
        "policy for a bucket.",
    ),
    Case(
        "How are plugins installed on a shared host?",
        "Installing plugins",
        "Installing plugins is described in chapter 4 below.",
        "Hosting",
        "On a shared host you have no shell. Plugins can be installed there through the "
        "control panel: open Extensions, choose the archive, and confirm. The host unpacks it "
        "beside the others. Plugins that need compiled code cannot be installed on a shared "
        "host, since its compiler is switched off.",
    ),
    Case(
        "What is the deadline for submitting a travel claim?",
        "Travel claims",
        "Travel claim forms: ask your office for them.",
        "Finance handbook",
        "Every journey must be approved before it is booked. After the journey, a travel "
        "claim is submitted with all receipts. The deadline for submitting it is the tenth of "
        "the following month; later claims are paid only if the head of finance agrees. "
        "Advances are settled with the claim.",
    ),
    Case(
        "How often should the pump filter be cleaned in summer?",
        "Pump filter",
        "Pump filter: part number 4471, see page 12.",
        "Maintenance of the pond",
        "Leaves and algae clog what stands between the pond and the pump. In summer the "
        "filter of the pump should be cleaned every week, in spring and autumn once a month. "
        "Rinse the sponge in pond water, never with soap, since the bacteria in it do the "
        "work. In winter the pump is taken out.",
    ),
    Case(
        "Who approves overtime at weekends?",
        "Overtime",
        "Overtime: see also working hours, weekends, holidays.",
        "Working hours",
        "The normal week has 38 hours. Overtime on working days is approved by the team "
        "leader. At weekends and on public holidays the director approves it in writing "
        "before the work begins. Overtime that nobody approved is neither paid nor given back "
        "as time.",
    ),
    Case(
        "How long does the battery last when the display is on?",
        "Battery",
        "Battery: lithium, 3.7 V, sold separately, see shop.",
        "Using the reader",
        "With wireless off and the display dimmed, a charge is enough for six weeks. When the "
        "display is on at full brightness all day, the battery lasts about nine hours. Cold "
        "shortens it. The battery is charged by any USB charger, which takes two hours and a "
        "half.",
    ),
    Case(
        "Can the licence key be moved to another computer?",
        "Licence key",
        "Licence key? Click here to contact our support.",
        "Installing",
        "The program runs after you enter the licence key that came by mail. One key is good "
        "for two machines at a time. The licence key can be moved to another computer: "
        "deactivate it on the old computer under Help, then enter it on the other. If the old "
        "computer is lost, write to us.",
    ),
    Case(
        "Wie oft muss der Filter der Pumpe gereinigt werden?",
        "Filter der Pumpe",
        "Filter der Pumpe: siehe Kapitel 7 auf Seite 12.",
        "Wartung des Teichs",
        "Blätter und Algen setzen sich zwischen Teich und Pumpe fest. Im Sommer muss der "
        "Filter jede Woche gereinigt werden, im Frühjahr einmal im Monat. Der Schwamm wird in "
        "Teichwasser ausgespült, nie mit Seife. Im Winter wird die Pumpe aus dem Wasser "
        "genommen und trocken gelagert.",
    ),
    Case(
        "Wer genehmigt Überstunden am Wochenende?",
        "Überstunden",
        "Überstunden: siehe auch Arbeitszeit, Wochenende und Feiertage.",
        "Arbeitszeit",
        "Die Woche hat 38 Stunden. Überstunden an Werktagen genehmigt die Teamleitung. Am "
        "Wochenende und an Feiertagen genehmigt sie die Direktorin schriftlich, bevor die "
        "Arbeit beginnt. Stunden, die niemand genehmigt hat, werden weder bezahlt noch "
        "ausgeglichen.",
    ),
    Case(
        "Quelle est la date limite pour remettre une note de frais ?",
        "Notes de frais",
        "Note de frais : formulaire disponible au secrétariat, bureau 3.",
        "Manuel des finances",
        "Chaque voyage est approuvé avant la réservation. Après le voyage, on remet une note "
        "de frais avec tous les reçus. La date limite pour la remettre est le dix du mois "
        "suivant ; les notes plus tardives ne sont payées que si la direction accepte. Les "
        "avances sont réglées avec la note.",
    ),
    Case(
        "¿Cómo se cambia la contraseña del correo desde el móvil?",
        "Cambiar la contraseña",
        "Cambiar la contraseña: véase el apartado siguiente, página 9.",
        "Correo en el móvil",
        "Para leer el correo desde el móvil hay que instalar la aplicación. La contraseña del "
        "correo se cambia desde el móvil en Ajustes, Cuenta, Seguridad: escriba la antigua y "
        "dos veces la nueva. El cambio vale también para el ordenador. Después hay que "
        "iniciar sesión otra vez.",
    ),
    Case(
        "Come si pulisce il filtro della lavatrice?",
        "Filtro della lavatrice",
        "Filtro della lavatrice: vedi il disegno a pagina 4.",
        "Manutenzione",
        "Ogni tre mesi si chiude l'acqua e si mette un panno per terra. Il filtro della "
        "lavatrice si pulisce così: si apre lo sportello in basso, si svita il tappo verso "
        "sinistra, si tolgono i pelucchi e si sciacqua sotto il rubinetto. Poi si riavvita e "
        "si controlla che non perda.",
    ),
    Case(
        "Hoe lang is een wachtwoord minimaal geldig?",
        "Wachtwoord",
        "Wachtwoord vergeten? Klik hier voor een nieuw wachtwoord.",
        "Beveiliging",
        "Iedere medewerker kiest zelf een wachtwoord van ten minste twaalf tekens. Een "
        "wachtwoord is minimaal één dag en hoogstens een jaar geldig. Wie het drie keer fout "
        "invoert, wordt een kwartier buitengesloten. De beheerder kan een tijdelijk "
        "wachtwoord geven.",
    ),
    Case(
        "What happens to unused vacation days at the end of the year?",
        "Vacation days",
        "Vacation days: overview, request, calendar, contacts, archive.",
        "Leave",
        "Everybody has thirty days of leave. Vacation days that are unused at the end of the "
        "year move to the next one and are lost on the first of April, unless illness "
        "prevented them from being taken. Half days can be taken. Days are requested in the "
        "calendar two weeks ahead.",
    ),
    Case(
        "How do I restore a deleted branch?",
        "Deleted branch",
        "Deleted branch? See the FAQ, or ask in chat.",
        "Working with branches",
        "A branch that was merged may be removed. To restore a deleted branch, find its last "
        "commit in the log of references and create the branch anew from there. References "
        "are kept for ninety days; after that, garbage collection removes what nothing points "
        "at.",
    ),
    Case(
        "Does the warranty cover water damage?",
        "Warranty",
        "Warranty card included. Keep this card in a safe place.",
        "After the sale",
        "For two years we repair what breaks in normal use at no cost. Water damage is not "
        "covered by the warranty, nor is damage from a fall. The warranty does cover the "
        "battery for its first year. Send the device with the receipt to our workshop.",
    ),
    Case(
        "What temperature does the kiln need for stoneware glaze?",
        "Kiln temperature",
        "Kiln temperature table on the wall beside the door.",
        "Firing",
        "Biscuit firing takes eight hours. Stoneware glaze needs a kiln temperature of 1,240 "
        "degrees, held for twenty minutes; earthenware glaze melts at 1,060. The kiln is "
        "opened below 100 degrees, or the glaze cracks. Cones on the shelf show whether the "
        "heat was even.",
    ),
    Case(
        "How is rain water drained from the flat roof?",
        "Flat roof",
        "Flat roof: see drawing A-12, sheet 3 of 5.",
        "Building description",
        "The walls are brick, the ceilings concrete. Rain water is drained from the flat roof "
        "by two inner pipes with leaf guards; a third outlet at the parapet works when both "
        "are blocked. The roof is inspected in November. Snow up to half a metre is no "
        "danger.",
    ),
    Case(
        "Where do visitors park their bicycles?",
        "Visitors",
        "Visitors: please register at the reception desk. Thank you.",
        "Getting here",
        "The house is ten minutes from the station on foot. Visitors park their cars behind "
        "the hall, against a ticket from the desk. Visitors park bicycles under the roof by "
        "the east entrance, where there is also a pump. The gate closes at eight in the "
        "evening.",
    ),
]


def _first(index: HebbianIndex, question: str) -> str:
    return index.recall(question, k=5)[0].text


@pytest.mark.parametrize(("titled", "right"), [(True, 19), (False, 20)])
def test_stubs_stand_behind_what_answers(titled: bool, right: int) -> None:
    with HebbianIndex.open(":memory:") as index:
        for each in CASES:
            heading = each.heading if titled else ""
            index.add([{"id": each.stub, "title": heading, "text": each.stub}])
            index.add([{"id": each.heading, "title": each.title, "text": each.text}])
        assert sum(_first(index, case.question) == case.text for case in CASES) >= right


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.question)
def test_a_passage_that_thirty_documents_repeat_stands_behind(case: Case) -> None:
    repeated = {"title": case.heading, "text": case.stub}
    with HebbianIndex.open(":memory:") as index:
        index.add({"id": f"r{n}", "document_id": f"d{n}", **repeated} for n in range(30))
        index.add({"id": each.text, "title": each.title, "text": each.text} for each in CASES)
        assert _first(index, case.question) == case.text


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.question)
def test_a_line_below_every_page_names_none_of_them(case: Case) -> None:
    with HebbianIndex.open(":memory:") as index:
        for each in CASES:
            page = f"{each.text}\n\n{case.stub}"
            opening = f"{each.text.partition('.')[0]}.\n\n{case.stub}"
            index.add([{"id": each.title, "title": each.title, "text": page}, opening])
        assert case.text in _first(index, case.question)


def test_a_stub_that_was_taught_may_be_first() -> None:
    case = CASES[0]
    with HebbianIndex.open(":memory:") as index:
        index.add({"id": each.text, "title": each.title, "text": each.text} for each in CASES)
        index.add([{"id": "stub", "title": case.heading, "text": case.stub}])
        for actor in ("ada", "bo", "cy"):
            index.reinforce(index.recall(case.question), cited=["stub"], actor=actor)
        assert index.recall(case.question)[0].id == "stub"


def test_what_is_first_does_not_depend_on_how_many_are_wanted() -> None:
    with HebbianIndex.open(":memory:") as index:
        index.add({"id": each.text, "title": each.title, "text": each.text} for each in CASES)
        index.add({"id": each.stub, "title": each.heading, "text": each.stub} for each in CASES)
        for case in CASES:
            recall = index.recall(case.question, k=40)
            assert index.recall(case.question, k=1)[0] == recall[0]
            assert index.explain(recall, recall[0].id).score == recall[0].score
