"""Two small sets of near-misses: every question is on topic, but half of them have no answer.

They were written and committed before any cutoff was chosen with them. Each unanswerable question
reuses words of the texts and asks for something that none of them says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hebbgraph import Chunk

__all__ = ["NEAR_MISSES", "NearMisses"]


class NearMisses(NamedTuple):
    """Passages, questions that they answer, and questions that they do not."""

    chunks: Sequence[Chunk]
    answered: Sequence[str]
    unanswered: Sequence[str]


def _made(texts: Mapping[str, str], answered: str, unanswered: str) -> NearMisses:
    chunks = [Chunk(id=title, title=title, text=text) for title, text in texts.items()]
    return NearMisses(chunks, answered.strip().splitlines(), unanswered.strip().splitlines())


_HOUSE = _made(
    {
        "Keys": "Each flat has three keys. A lost key is reported to the office within two days; "
        "a new one costs 40 crowns, a new lock 300.",
        "Laundry": "The laundry room in the cellar is open from 7 to 21. Book a slot on the list "
        "by the door; a slot lasts two hours. Tokens are sold by the caretaker.",
        "Rubbish": "Paper is collected on Mondays, glass on the first Friday of the month. Bulky "
        "waste is taken to the yard in Weaver Street; the house does not collect it.",
        "Bicycles": "Bicycles stand in the shed behind house B. Those without a name tag are "
        "removed every April and given away after three months.",
        "Noise": "Quiet hours are from 22 to 6, on Sundays also from 13 to 15. Drilling is allowed "
        "on weekdays from 8 to 18.",
        "Pets": "Cats and small animals need no permission. Dogs do: ask the board in writing. "
        "On the stairs dogs are kept on a lead.",
        "Heating": "The heating season runs from October to April. Radiators are bled by the "
        "caretaker each September; in between, call him if one stays cold.",
        "Rent": "Rent is due on the third working day of the month. A reminder costs 15 crowns; "
        "after two reminders the board is told.",
        "Deposit": "The deposit is three months of rent. It is returned within 60 days after the "
        "handover, less what repairs cost.",
        "Handover": "At the handover the flat is empty, swept, and its walls white. A list of "
        "faults is signed by both sides.",
        "Subletting": "A room may be sublet with the consent of the board; a whole flat for one "
        "year at most. Short lets to tourists are forbidden.",
        "Board": "The board has five members, who are elected for two years at the general meeting "
        "in March. It meets on the second Tuesday of the month.",
        "General meeting": "Invitations go out three weeks ahead. Motions are handed in ten days "
        "before. Each share has one vote; votes may be passed on in writing.",
        "Guest room": "The guest room sleeps two and costs 120 crowns a night. It is booked at the "
        "office, at most six nights in a row.",
        "Garden": "Beds in the garden are given out by lot in February. Water comes from the rain "
        "barrels; hoses are forbidden in July and August.",
        "Playground": "The playground is checked every quarter. Broken swings are reported to the "
        "office, which closes them until they are mended.",
        "Lift": "The lift carries eight persons. In an emergency press the bell for three seconds; "
        "the service answers day and night.",
        "Fire": "Nothing may stand on the stairs. Smoke alarms are tested each November; their "
        "batteries last ten years.",
        "Parking": "There are 22 places in the yard, let by the half year. Visitors park in the "
        "street. Charging points for cars are planned for place 20 to 22.",
        "Cellar": "Each flat has a compartment in the cellar. It is no place for petrol or gas "
        "bottles. After heavy rain check for water.",
        "Windows": "Window frames are painted outside by the house every eight years; inside they "
        "are the tenant's affair.",
        "Internet": "The cable reaches each living room. Contracts are made with the provider; "
        "faults in the wall socket are mended by the house.",
        "Insurance": "The house is insured against fire, storm and burst pipes. Furniture is not: "
        "tenants insure it themselves.",
        "Post": "Name plates on letter boxes are ordered at the office and put up by the "
        "caretaker. Parcels are not accepted there.",
    },
    """
How much does a new key cost?
When can I use the laundry room?
On which day is paper collected?
What happens to bicycles without a name tag?
May I drill on a Saturday?
Do I need permission for a dog?
Who bleeds the radiators?
When is the rent due?
How soon do I get my deposit back?
In what state must the flat be at the handover?
May I let my flat to tourists for a week?
How long are members of the board elected for?
When must motions for the general meeting be handed in?
How many nights can guests stay in the guest room?
Are garden hoses allowed in August?
How often is the playground checked?
What do I do if the lift gets stuck?
How long do the batteries of the smoke alarms last?
Where do visitors park?
Can I store gas bottles in my cellar compartment?
Who paints the window frames outside?
Who mends a broken wall socket for the internet?
Is my furniture insured by the house?
Where do I order a name plate for my letter box?
    """,
    """
Who holds the master key of the heating cellar?
How hot can the laundry be washed?
Who pays the fine for rubbish in the wrong bin?
Can I charge an electric bicycle in my living room?
How thick are the walls between the flats?
Which vet treats cats near the house?
How much did the heating oil cost last winter?
Can rent be paid in a foreign currency?
Does the deposit earn interest?
Which paint is used for the white walls?
What tax do I pay on income from subletting?
Who was the first chair of the board?
What was decided about the roof at the last general meeting?
Does the guest room have a kitchen?
Which roses grow in the garden?
From what age may children use the playground alone?
When was the lift built?
Where is the nearest fire station?
What does a resident's permit for the street cost?
How high is the cellar ceiling?
Are the windows triple glazed?
How fast is the internet connection?
Which company insures the house?
At what time does the post arrive?
    """,
)

_TOOL = _made(
    {
        "Installing": "Tarn is installed with `pip install tarn`. It needs Python 3.11 or later "
        "and runs on Linux and macOS. On Windows use the container.",
        "First run": "`tarn init` writes tarn.toml into the current folder. `tarn run` then "
        "executes all jobs once and exits with 0 if none failed.",
        "Jobs": "A job is a table [jobs.NAME] with a command. Commands run in a shell; "
        "`shell = false` passes the words on as they are.",
        "Schedules": '`every = "15m"` repeats a job; `at = "06:30"` runs it once a day, in the '
        "time zone of `zone`, which is UTC by default.",
        "Dependencies": '`after = ["fetch"]` starts a job when another has ended well. A circle '
        "is refused when the file is read, and the error names it.",
        "Retries": "`retries = 3` tries a failed job again, after 10, 20 and 40 seconds. Exit code "
        "75 is never retried.",
        "Timeouts": '`timeout = "5m"` ends a job with SIGTERM, and after ten more seconds with '
        "SIGKILL. Its status is then `late`.",
        "Environment": "Variables are set in [env], for all jobs, or in [jobs.NAME.env]. "
        "`env_file` names a file with lines KEY=VALUE.",
        "Secrets": "A value that begins with `secret:` is read from the keyring of the system. "
        "Secrets never appear in logs: they are replaced by stars.",
        "Logs": "The output of each job lies in .tarn/logs, a file a run. Files older than `keep` "
        "(30 days by default) are removed at the next start.",
        "History": "`tarn history NAME` lists the last runs with status and duration. `--json` "
        "prints one object a line.",
        "Notifications": '`on_failure = ["mail:ops@example.org"]` sends the last 50 lines of the '
        "log. `hook:URL` posts a JSON object instead.",
        "Locks": 'Two runs of one job never overlap: the second one waits. `overlap = "skip"` '
        "leaves it out, and the history says `skipped`.",
        "Parallel runs": "At most `workers` jobs run at once, four by default. Jobs in one "
        "`group` run one after the other.",
        "Parameters": "`tarn run fetch --set day=2024-05-01` fills `{day}` in the command. A "
        "parameter without a value and without a default is an error.",
        "Artifacts": '`outputs = ["data/*.csv"]` keeps these files of the last five runs in '
        ".tarn/artifacts. `tarn restore NAME` copies them back.",
        "Caching": "A job with `inputs` is skipped while their checksums are those of the last "
        "good run. `tarn run --force` ignores the cache.",
        "Service": "`tarn serve` keeps running and obeys schedules. It reloads tarn.toml on "
        "SIGHUP; a broken file is reported, and the old one stays in force.",
        "Web page": "`tarn serve --page 8080` shows jobs and logs on 127.0.0.1. It has no login: "
        "put a proxy before it.",
        "Containers": '`image = "python:3.12"` runs a job by podman or docker, with the folder '
        "mounted at /work.",
        "Remote hosts": '`host = "ada@box"` runs a job over ssh. Outputs are copied back with '
        "rsync. Passwords are not supported, only keys.",
        "Plugins": "A plugin is a package with an entry point in the group tarn.actions. "
        "`tarn plugins` lists what was found.",
        "Exit codes": "0: all went well. 1: a job failed. 2: the file is wrong. 3: another tarn "
        "holds the lock of the folder.",
        "Upgrading": "Version 2 renamed `cron` to `every` and `at`. `tarn migrate` rewrites the "
        "file and keeps the old one as tarn.toml.bak.",
    },
    """
Which Python version does Tarn need?
What does tarn init write?
How do I run a command without a shell?
In which time zone does at = "06:30" run?
How do I start a job after another one?
Which exit code is never retried?
What happens when a job exceeds its timeout?
How do I set environment variables for a single job?
How does Tarn keep secrets out of the logs?
How long are log files kept?
How can I print the history as JSON?
How do I get a mail when a job fails?
What does overlap = "skip" do?
How many jobs run in parallel by default?
How do I pass a parameter on the command line?
How do I restore the artifacts of a job?
How do I ignore the cache for one run?
Which signal makes tarn serve reload its file?
Does the web page have a login?
Where is the folder mounted in a container?
Can I use a password for a remote host?
How do I list the plugins that were found?
What does exit code 3 mean?
What did version 2 rename?
    """,
    """
How do I install Tarn with Homebrew?
Can tarn init read an existing Makefile?
Which shell prompt theme works best with jobs?
How do I skip public holidays in a schedule?
Can a job depend on a file in an S3 bucket?
How do I change the delay between retries to an hour?
Can a timeout be measured in CPU seconds?
How do I encrypt the env_file?
Does Tarn support HashiCorp Vault for secrets?
How do I send logs to Elasticsearch?
Can the history be stored in PostgreSQL?
How do I send a notification by SMS?
How do I release a lock on a network drive by hand?
Can workers be spread over several Kubernetes nodes?
How do I validate a parameter with a regular expression?
Can artifacts be uploaded to GitHub releases?
How do I share the cache between machines?
How do I run tarn serve as a systemd service?
Can I translate the web page into French?
How do I limit the memory of a container?
Does Tarn work with remote hosts behind a bastion?
How do I sign a plugin?
Which exit code does a segmentation fault give?
When will version 3 be released?
    """,
)

NEAR_MISSES: Mapping[str, NearMisses] = {"house rules": _HOUSE, "a tool's manual": _TOOL}
"""The sets by name."""
