"""Four texts of our own about a valley, from which questions are made that they do not answer."""

from __future__ import annotations

MILL = (
    "The paper mill at Brookfield was built by Lucy Holt in 1702. Her neighbor Samuel Reed opened a tannery in "
    "Lisbon in 1715. The mill had the largest wheel in the valley. A flood destroyed the tannery during the Great "
    "Storm. Today the yellow mill is a museum."
)
FERRY = (
    "The ferry at Brookfield was launched by Martha Quill in 1731. It carried grain in Austria for the millers. The "
    "ferry sank after the Long Frost. Visitors still ask for the captain of the ferry."
)
OBSERVATORY = (
    "Johann Kessel founded the observatory at Highmoor in 1866. Its copper dome leaks when it rains. Two students "
    "discovered a comet there. The telescope was shipped from Denmark by barge."
)
BAKERY = (
    "Walter Finch opened his bakery at Brookfield in 1790. The baker sold rye bread to the miners. His oven was heated "
    "with peat. The shop moved to a stone house near the chapel."
)
