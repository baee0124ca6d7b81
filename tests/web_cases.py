"""Questions and passages, all of our own writing, that Python and a browser must answer alike."""

from __future__ import annotations

from itertools import product

LIGHTHOUSE = (
    "The lighthouse at Grimsel Point was built in 1874 by Ada Thornbury, an engineer from Leeds. It "
    "is 41 metres high and stands on a rock of red granite. For ninety years three keepers lived "
    "there, until an electric lamp replaced them in 1964. Today the tower belongs to the village of "
    "Skarholm, which opens it to visitors from May to September."
)
BAKERY = (
    "Marta Olsen opened her bakery in the old railway station in March 2009. She bakes 300 loaves a "
    "day, most of them with rye from her brother's farm. On Sundays the shop sells only cinnamon "
    "rolls. In 2016 it won the prize of the city of Bergen for the best bread, and the jury praised "
    "the long rest of the dough: 36 hours at 4 °C."
)
RIVER = (
    "The Oru rises in the Kessel mountains and flows 512 kilometres to the bay of Lund. Its water is "
    "used by four power plants. In spring 1953 it flooded the lower town, and 11,000 people lost "
    "their homes. Since then a dam near Tolva, finished in 1961, holds the melt water back. Otters, "
    "which had vanished, returned in the 1990s 🦦."
)
CAFE = (
    "Café Zoë 😀😀 was founded by José Muñoz in São Paulo. Its signboard shows a 𝒢reen parrot 🦜 named "
    "Łucja. The café serves coffee from the Açaí valley, tea from 東京 and a cake that costs 12 €. A "
    "literal [SEP] is printed on every cup, because the owner once wrote compilers."
)
TELESCOPE = (
    "The Halden telescope has a mirror of 6.2 metres. It was made in Jena and carried up the mountain"
    " in 2003 by mules, since no road leads to the top. Its first picture showed the Crab Nebula. Dr."
    " Ines Falk directs the observatory, where 14 people work. The dome turns once in 90 seconds and "
    "weighs 55 tonnes."
)
CASES: list[tuple[str, str]] = [
    *product(
        (
            *("When was the lighthouse built?", "Who built the lighthouse?", "How high is the lighthouse?"),
            *("Who replaced the keepers?", "Which village owns the tower?", "What is the captain's name?"),
        ),
        [LIGHTHOUSE],
    ),
    *product(
        (
            *("Who opened the bakery?", "When did the bakery open?", "How many loaves does she bake a day?"),
            *("What is sold on Sundays?", "How long does the dough rest?", "Who painted the walls?"),
        ),
        [BAKERY],
    ),
    *product(
        (
            *("Where does the Oru rise?", "How long is the Oru?", "When was the dam finished?"),
            *("How many people lost their homes?", "Which animals returned?", "Who invented the telephone?"),
        ),
        [RIVER],
    ),
    *product(
        (
            *("Who founded the café?", "What is the parrot called?", "What does the cake cost?"),
            *("What is printed on every cup?", "Where was it founded?", "Where does the tea come from?"),
        ),
        [CAFE],
    ),
    *product(
        (
            *("How large is the mirror?", "Who directs the observatory?", "How was the mirror carried up?"),
            *(
                "What did the first picture show?",
                "How many people work there?",
                "How much does the dome weigh?",
            ),
        ),
        [TELESCOPE],
    ),
]
LONG = "\n\n".join([RIVER, BAKERY, CAFE, TELESCOPE, LIGHTHOUSE] * 6)
