/* The bytes of a GOAL file from the arrays of a schedule. See describe/goal/printer.py. */

struct goal_columns {
    int64_t *first;
    uint8_t *kind;
    int32_t *peer;
    int64_t *amount; /* nanoseconds of a calc, bytes of a message */
    int32_t *tag, *cpu, *nic;
    int64_t *edge_start;
    int32_t *edge_target;
    uint8_t *edge_early;
    uint8_t *out;
};
LAYOUT(goal_columns, PLACE(goal_columns, first), PLACE(goal_columns, kind), PLACE(goal_columns, peer),
       PLACE(goal_columns, amount), PLACE(goal_columns, tag), PLACE(goal_columns, cpu), PLACE(goal_columns, nic),
       PLACE(goal_columns, edge_start), PLACE(goal_columns, edge_target), PLACE(goal_columns, edge_early),
       PLACE(goal_columns, out))

static uint8_t *put_text(uint8_t *at, const char *text) {
    while (*text) *at++ = (uint8_t)*text++;
    return at;
}

static uint8_t *put_number(uint8_t *at, int64_t number) {
    uint8_t digits[20];
    int count = 0;
    do {
        digits[count++] = (uint8_t)('0' + number % 10);
        number /= 10;
    } while (number);
    while (count) *at++ = digits[--count];
    return at;
}

static uint8_t *put_operation(const struct goal_columns *columns, int64_t operation, int64_t label, uint8_t *at) {
    const int kind = columns->kind[operation];
    at = put_number(put_text(at, "l"), label);
    at = put_text(at, kind == GOAL_COMPUTE ? ": calc " : kind == GOAL_SEND ? ": send " : ": recv ");
    at = put_number(at, columns->amount[operation]);
    if (kind != GOAL_COMPUTE) {
        const int32_t peer = columns->peer[operation], tag = columns->tag[operation];
        at = put_text(at, kind == GOAL_SEND ? "b to " : "b from ");
        at = peer == GOAL_ANY ? put_text(at, "-1") : put_number(at, peer);
        at = put_text(at, " tag ");
        at = tag == -1 ? put_text(at, "-1") : put_number(at, (int64_t)(uint32_t)tag);
    }
    if (columns->cpu[operation]) at = put_number(put_text(at, " cpu "), columns->cpu[operation]);
    if (columns->nic[operation] && kind != GOAL_COMPUTE)
        at = put_number(put_text(at, " nic "), columns->nic[operation]);
    return put_text(at, "\n");
}

static uint8_t *put_edges(const struct goal_columns *columns, int64_t operation, int64_t first, uint8_t *at) {
    for (int64_t edge = columns->edge_start[operation]; edge < columns->edge_start[operation + 1]; edge++) {
        at = put_number(put_text(at, "l"), columns->edge_target[edge] - first + 1);
        at = put_text(at, columns->edge_early[edge] ? " irequires l" : " requires l");
        at = put_text(put_number(at, operation - first + 1), "\n");
    }
    return at;
}

/* Write the ranks from `low` to below `high`; return the number of bytes. */
EXPORTED int64_t goal_print(struct goal_columns *columns, int64_t low, int64_t high);
int64_t goal_print(struct goal_columns *columns, int64_t low, int64_t high) {
    uint8_t *at = columns->out;
    for (int64_t rank = low; rank < high; rank++) {
        const int64_t first = columns->first[rank], last = columns->first[rank + 1];
        at = put_text(put_number(put_text(at, "rank "), rank), " {\n");
        for (int64_t operation = first; operation < last; operation++)
            at = put_operation(columns, operation, operation - first + 1, at);
        for (int64_t operation = first; operation < last; operation++) at = put_edges(columns, operation, first, at);
        at = put_text(at, "}\n");
    }
    return at - columns->out;
}
