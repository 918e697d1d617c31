"""Messages that are looked for in the queue of their receiver, at a cost for each message that is in the way.

An MPI library keeps posted receives and unexpected messages of a rank in lists. If a message arrives before another and
is received after it, it is examined once: as an unexpected message when the other receive is posted, or as the message
that examines the other receive. So a receive examines the messages that arrived before its own and still wait, in
whichever list they are.

Here each rank gets a mailbox for its messages, whose tags pair the same sends and receives as before; engines count
what waits there (``Plan.matching_s``).

Source: K. Underwood, R. Brightwell, "The impact of MPI queue usage on message latency", ICPP 2004.
"""

from __future__ import annotations

import numpy as np

from simcodesign.core.operation_kinds import RECEIVE
from simcodesign.generate.passes.draft import Draft
from simcodesign.generate.plan import ANY_TAG, NONE


def queue_receives(draft: Draft) -> None:
    """Let receives look for their messages in the mailbox of their rank, if that takes time.

    Messages for anyone keep their mailboxes.
    """
    search_s = float(draft.builder.design_point.machine.network.search_s)
    if draft.loggops is not None or not search_s > 0:
        return
    receive = np.flatnonzero((draft.kind == RECEIVE) & (draft.match != NONE))
    send = draft.match[receive]
    mailbox = np.full(len(draft), NONE, np.int32) if draft.mailbox is None else draft.mailbox.copy()
    tag = np.full(len(draft), ANY_TAG, np.int32) if draft.tag is None else draft.tag.copy()
    mailbox[receive] = mailbox[send] = draft.boxes + draft.rank[receive]
    tag[receive] = tag[send] = send
    match = draft.own("match")
    match[receive] = match[send] = NONE
    draft.mailbox, draft.tag, draft.boxes = mailbox, tag, draft.boxes + draft.ranks
    draft.matching_s = search_s
