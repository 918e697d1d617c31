/* Statements of a GOAL file: one pass from text to arrays. See describe/goal/scanner.py. The text ends with a zero byte,
   so that the next byte may always be looked at. */

enum { GOAL_NONE = -1, GOAL_ANY = -2 };
enum { GOAL_COMPUTE, GOAL_SEND, GOAL_RECEIVE };
/* What can be wrong, in the order of describe/goal/errors.py. */
enum {
    GOAL_FINE,
    GOAL_HEADER,
    GOAL_RANKS,
    GOAL_BLOCK,
    GOAL_RANK,
    GOAL_OPEN,
    GOAL_CLOSE,
    GOAL_STATEMENT,
    GOAL_OPERATION,
    GOAL_DUPLICATE,
    GOAL_TIME,
    GOAL_AMOUNT,
    GOAL_UNIT,
    GOAL_TO,
    GOAL_FROM,
    GOAL_PEER,
    GOAL_ATTRIBUTE,
    GOAL_TWICE,
    GOAL_TAG,
    GOAL_NUMBER,
    GOAL_LABEL,
    GOAL_ITSELF,
    GOAL_UNKNOWN,
    GOAL_END
};
static const int64_t GOAL_MOST = 1000000000000000, GOAL_MOST_INT = INT32_MAX, GOAL_MOST_DIGITS = 100000000000000000;
static const uint64_t GOAL_MASK = UINT32_MAX;

struct goal_text {
    uint8_t *text;
    uint8_t *codes; /* (256,) 0 of bytes that cannot be in a name; else from 1 to 63, digits first */
    /* Of each operation. */
    uint8_t *kind;
    int32_t *peer;
    double *size_bytes, *calc_s;
    int32_t *tag, *cpu, *nic;
    /* Of each dependency: `target` waits for `source`, labels while a rank is read, then operations. */
    int32_t *source, *target;
    uint8_t *early;
    /* The same by their source, and (operations + 1) where those of each begin. */
    int64_t *edge_start;
    int32_t *edge_target;
    uint8_t *edge_early;
    /* Of each `rank R { ... }`: R, its first operation, its byte in the text. */
    int32_t *rank;
    int64_t *first, *at;
    /* Hash table of the labels of the rank that is read: slots (a power of two of them) hold 1 + label, or 0. A label has
       its bytes in the text, its operation (-1 while it has only been mentioned) and its slot. */
    int32_t *slots;
    int64_t *label_at, *label_end;
    int32_t *label_operation;
    int64_t *label_slot;
    int64_t bytes, slot_mask, labels, operations, edges, blocks, ranks, error, wrong;
};
LAYOUT(goal_text, PLACE(goal_text, text), PLACE(goal_text, codes), PLACE(goal_text, kind), PLACE(goal_text, peer),
       PLACE(goal_text, size_bytes), PLACE(goal_text, calc_s), PLACE(goal_text, tag), PLACE(goal_text, cpu),
       PLACE(goal_text, nic), PLACE(goal_text, source), PLACE(goal_text, target), PLACE(goal_text, early),
       PLACE(goal_text, edge_start), PLACE(goal_text, edge_target), PLACE(goal_text, edge_early),
       PLACE(goal_text, rank), PLACE(goal_text, first), PLACE(goal_text, at), PLACE(goal_text, slots),
       PLACE(goal_text, label_at), PLACE(goal_text, label_end), PLACE(goal_text, label_operation),
       PLACE(goal_text, label_slot), PLACE(goal_text, bytes), PLACE(goal_text, slot_mask), PLACE(goal_text, labels),
       PLACE(goal_text, operations), PLACE(goal_text, edges), PLACE(goal_text, blocks), PLACE(goal_text, ranks),
       PLACE(goal_text, error), PLACE(goal_text, wrong))

/* Keep what is wrong, and where; return null. */
static const uint8_t *goal_wrong(struct goal_text *goal, int64_t error, const uint8_t *at) {
    goal->error = error;
    goal->wrong = at - goal->text;
    return 0;
}

/* --- Words ------------------------------------------------------------------------------------------------------- */

static int is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

/* A run of letters, digits and _, with a hash of its stem and the number at its end. */
struct goal_name {
    const uint8_t *at, *end;
    uint64_t stem, number;
};

static struct goal_name name_at(const struct goal_text *goal, const uint8_t *at) {
    struct goal_name name = {at, at, 0, 0};
    for (uint64_t digit; (digit = goal->codes[*name.end]) != 0; name.end++) {
        if (digit <= 10) {
            name.number = (name.number * 10 + digit - 1) & GOAL_MASK;
        } else {
            name.stem = (((name.stem ^ name.number) + digit) * 0x5BD1E995) & GOAL_MASK;
            name.number = 0;
        }
    }
    return name;
}

static int is_word(struct goal_name name, const char *word) {
    const uint8_t *at = name.at;
    while (at < name.end && *at == (uint8_t)*word) at++, word++;
    return at == name.end && *word == 0;
}

/* Read a whole number; `value` is -1 if there is none, or it runs into a letter other than b, or has 18 digits or more. */
static const uint8_t *read_number(const struct goal_text *goal, const uint8_t *at, int64_t *value) {
    const uint8_t *end = at;
    int64_t number = 0;
    for (; is_digit(*end) && number <= GOAL_MOST_DIGITS; end++) number = number * 10 + (*end - '0');
    *value = -1;
    if (end == at || number >= GOAL_MOST_DIGITS || *end == '.' || (*end != 'b' && goal->codes[*end] != 0)) return at;
    *value = number;
    return end;
}

static int is_minus_1(const struct goal_text *goal, const uint8_t *at) {
    return at[0] == '-' && at[1] == '1' && goal->codes[at[2]] == 0;
}

/* The place after the comment that begins here, or `at` if none does or it does not end. */
static const uint8_t *after_comment(const struct goal_text *goal, const uint8_t *at) {
    const uint8_t *last = goal->text + goal->bytes, *end = at + 2;
    if (at[1] == '/') {
        while (end < last && *end != '\n') end++;
        return end;
    }
    if (at[1] == '*')
        for (; end < last; end++)
            if (end[0] == '*' && end[1] == '/') return end + 2;
    return at;
}

/* The place after blanks and comments of this line; a comment that does not end stays. */
static const uint8_t *after_blanks_of_goal(const struct goal_text *goal, const uint8_t *at) {
    for (;;) {
        at = after_blanks(at);
        if (*at != '/') return at;
        const uint8_t *after = after_comment(goal, at);
        if (after == at) return at;
        at = after;
    }
}

/* The place after blanks, comments, and ends of lines and statements. */
static const uint8_t *next_statement(const struct goal_text *goal, const uint8_t *at) {
    at = after_blanks_of_goal(goal, at);
    while (*at == '\n' || *at == ';') at = after_blanks_of_goal(goal, at + 1);
    return at;
}

static const uint8_t *end_of_statement(struct goal_text *goal, const uint8_t *at) {
    if (*at == '\n' || *at == ';' || *at == '}' || at == goal->text + goal->bytes) return at;
    return goal_wrong(goal, GOAL_END, at);
}

/* --- Labels ------------------------------------------------------------------------------------------------------ */

static int is_label(const struct goal_text *goal, int32_t label, struct goal_name name) {
    const uint8_t *at = goal->text + goal->label_at[label], *end = goal->text + goal->label_end[label];
    if (end - at != name.end - name.at) return 0;
    while (at < end && *at == *name.at) at++, name.at++;
    return at == end;
}

/* The number of a label in this rank; a new one is entered. Labels that count up (l1, l2, l3 ...) are neighbours, which
   keeps them in the processor's cache. */
static int32_t label_number(struct goal_text *goal, struct goal_name name) {
    const int64_t mask = goal->slot_mask, step = (int64_t)(name.stem >> 15) | 1; /* an odd step comes by every slot */
    int64_t slot = (int64_t)(name.stem + name.number) & mask;
    for (; goal->slots[slot] != 0; slot = (slot + step) & mask)
        if (is_label(goal, goal->slots[slot] - 1, name)) return goal->slots[slot] - 1;
    const int32_t label = (int32_t)goal->labels++;
    goal->slots[slot] = label + 1;
    goal->label_at[label] = name.at - goal->text;
    goal->label_end[label] = name.end - goal->text;
    goal->label_operation[label] = -1;
    goal->label_slot[label] = slot;
    return label;
}

/* Turn the labels of a rank's dependencies into operations, and empty the table. Return 0 if an operation is missing. */
static int resolve_labels(struct goal_text *goal, int64_t first_edge) {
    for (int64_t label = 0; label < goal->labels; label++) {
        goal->slots[goal->label_slot[label]] = 0;
        if (goal->label_operation[label] < 0) {
            goal_wrong(goal, GOAL_UNKNOWN, goal->text + goal->label_at[label]);
            return 0;
        }
    }
    for (int64_t edge = first_edge; edge < goal->edges; edge++) {
        goal->source[edge] = goal->label_operation[goal->source[edge]];
        goal->target[edge] = goal->label_operation[goal->target[edge]];
    }
    goal->labels = 0;
    return 1;
}

/* --- Statements -------------------------------------------------------------------------------------------------- */

/* tag, cpu, nic and their numbers, each at most once; a calc has only cpu. */
static const uint8_t *read_attributes(struct goal_text *goal, const uint8_t *at, int64_t operation) {
    const int kind = goal->kind[operation];
    int64_t cpu = -1, nic = -1;
    uint32_t tag = 0;
    int is_tagged = 0;
    for (;;) {
        at = after_blanks_of_goal(goal, at);
        const struct goal_name name = name_at(goal, at);
        if (name.end == at) break;
        const int is_cpu = is_word(name, "cpu"), is_tag = is_word(name, "tag"), is_nic = is_word(name, "nic");
        if (!is_cpu && (kind == GOAL_COMPUTE || (!is_tag && !is_nic))) return goal_wrong(goal, GOAL_ATTRIBUTE, at);
        if ((is_cpu && cpu >= 0) || (is_nic && nic >= 0) || (is_tag && is_tagged))
            return goal_wrong(goal, GOAL_TWICE, at);
        at = after_blanks_of_goal(goal, name.end);
        int64_t number;
        const uint8_t *end = read_number(goal, at, &number);
        if (is_tag) {
            is_tagged = 1;
            const int any = kind == GOAL_RECEIVE && is_minus_1(goal, at);
            if (any) end = at + 2, number = UINT32_MAX;
            if (number < 0 || (kind == GOAL_SEND && ((uint64_t)number & GOAL_MASK) == GOAL_MASK))
                return goal_wrong(goal, GOAL_TAG, at);
            tag = (uint32_t)((uint64_t)number & GOAL_MASK);
        } else if (number < 0 || number > GOAL_MOST_INT) {
            return goal_wrong(goal, GOAL_NUMBER, at);
        } else if (is_cpu) {
            cpu = number;
        } else {
            nic = number;
        }
        at = end;
    }
    /* Two's complement without a conversion that the standard leaves open. */
    goal->tag[operation] = tag <= INT32_MAX ? (int32_t)tag : -1 - (int32_t)(UINT32_MAX - tag);
    goal->cpu[operation] = cpu > 0 ? (int32_t)cpu : 0;
    goal->nic[operation] = nic > 0 ? (int32_t)nic : 0;
    return at;
}

static const uint8_t *read_calc(struct goal_text *goal, const uint8_t *at, int64_t operation) {
    int64_t time_ns;
    const uint8_t *end = read_number(goal, at, &time_ns);
    if (time_ns < 0 || time_ns > GOAL_MOST) return goal_wrong(goal, GOAL_TIME, at);
    goal->kind[operation] = GOAL_COMPUTE;
    goal->peer[operation] = GOAL_NONE;
    goal->size_bytes[operation] = 0.0;
    goal->calc_s[operation] = (double)time_ns / 1e9;
    return read_attributes(goal, end, operation);
}

/* SIZEb to PEER, or SIZEb from PEER, and attributes. */
static const uint8_t *read_message(struct goal_text *goal, const uint8_t *at, int kind, int64_t operation) {
    int64_t size, peer;
    const uint8_t *end = read_number(goal, at, &size);
    if (size < 0 || size > GOAL_MOST) return goal_wrong(goal, GOAL_AMOUNT, at);
    at = after_blanks_of_goal(goal, end);
    if (*at != 'b') return goal_wrong(goal, GOAL_UNIT, at);
    at = after_blanks_of_goal(goal, at + 1);
    const struct goal_name name = name_at(goal, at);
    if (kind == GOAL_SEND && !is_word(name, "to")) return goal_wrong(goal, GOAL_TO, at);
    if (kind == GOAL_RECEIVE && !is_word(name, "from")) return goal_wrong(goal, GOAL_FROM, at);
    at = after_blanks_of_goal(goal, name.end);
    end = read_number(goal, at, &peer);
    if (kind == GOAL_RECEIVE && is_minus_1(goal, at))
        end = at + 2, peer = GOAL_ANY;
    else if (peer < 0 || peer >= goal->ranks)
        return goal_wrong(goal, GOAL_PEER, at);
    goal->kind[operation] = (uint8_t)kind;
    goal->peer[operation] = (int32_t)peer;
    goal->size_bytes[operation] = (double)size;
    goal->calc_s[operation] = 0.0;
    return read_attributes(goal, end, operation);
}

static int is_operation(struct goal_name name) {
    return is_word(name, "send") || is_word(name, "recv") || is_word(name, "calc");
}

/* calc, send or recv and what follows. The operation counts, whether it is right or not. */
static const uint8_t *read_operation(struct goal_text *goal, struct goal_name name) {
    const int64_t operation = goal->operations++;
    if (!is_operation(name)) return goal_wrong(goal, GOAL_OPERATION, name.at);
    const uint8_t *at = after_blanks_of_goal(goal, name.end);
    if (is_word(name, "calc"))
        at = read_calc(goal, at, operation);
    else
        at = read_message(goal, at, is_word(name, "send") ? GOAL_SEND : GOAL_RECEIVE, operation);
    return at ? end_of_statement(goal, at) : 0;
}

/* requires LABEL, or irequires LABEL, after the label at `start`. */
static const uint8_t *read_dependency(struct goal_text *goal, const uint8_t *start, const uint8_t *at, int32_t label) {
    const struct goal_name how = name_at(goal, at);
    if (!is_word(how, "requires") && !is_word(how, "irequires")) return goal_wrong(goal, GOAL_STATEMENT, start);
    at = after_blanks_of_goal(goal, how.end);
    const struct goal_name name = name_at(goal, at);
    if (name.end == at || is_digit(*at)) return goal_wrong(goal, GOAL_LABEL, at);
    const int32_t other = label_number(goal, name);
    if (other == label) return goal_wrong(goal, GOAL_ITSELF, start);
    goal->source[goal->edges] = other;
    goal->target[goal->edges] = label;
    goal->early[goal->edges] = (uint8_t)is_word(how, "irequires");
    at = end_of_statement(goal, after_blanks_of_goal(goal, name.end));
    if (at) goal->edges++;
    return at;
}

/* A statement that does not begin with send, recv or calc. */
static const uint8_t *read_labelled(struct goal_text *goal, struct goal_name name) {
    const uint8_t *start = name.at;
    if (name.end == start || is_digit(*start)) return goal_wrong(goal, GOAL_STATEMENT, start);
    const int32_t label = label_number(goal, name);
    const uint8_t *at = after_blanks_of_goal(goal, name.end);
    if (*at != ':') return read_dependency(goal, start, at, label);
    if (goal->label_operation[label] >= 0) return goal_wrong(goal, GOAL_DUPLICATE, start);
    goal->label_operation[label] = (int32_t)goal->operations;
    return read_operation(goal, name_at(goal, after_blanks_of_goal(goal, at + 1)));
}

/* num_ranks P. */
static const uint8_t *read_header(struct goal_text *goal, const uint8_t *at) {
    at = next_statement(goal, at);
    const struct goal_name name = name_at(goal, at);
    if (!is_word(name, "num_ranks")) return goal_wrong(goal, GOAL_HEADER, at);
    at = after_blanks_of_goal(goal, name.end);
    int64_t ranks;
    const uint8_t *end = read_number(goal, at, &ranks);
    if (ranks < 1 || ranks > GOAL_MOST_INT) return goal_wrong(goal, GOAL_RANKS, at);
    goal->ranks = ranks;
    return end;
}

/* rank R { */
static const uint8_t *read_rank(struct goal_text *goal, const uint8_t *start) {
    const struct goal_name name = name_at(goal, start);
    if (!is_word(name, "rank")) return goal_wrong(goal, GOAL_BLOCK, start);
    const uint8_t *at = after_blanks_of_goal(goal, name.end);
    int64_t rank;
    const uint8_t *end = read_number(goal, at, &rank);
    if (rank < 0 || rank >= goal->ranks) return goal_wrong(goal, GOAL_RANK, at);
    at = after_blanks_of_goal(goal, end);
    if (*at != '{') return goal_wrong(goal, GOAL_OPEN, at);
    goal->rank[goal->blocks] = (int32_t)rank;
    goal->first[goal->blocks] = goal->operations;
    goal->at[goal->blocks] = start - goal->text;
    goal->blocks++;
    return at + 1;
}

/* The statements of a rank and its }. */
static const uint8_t *read_body(struct goal_text *goal, const uint8_t *at) {
    const int64_t first_edge = goal->edges;
    while (at) {
        at = next_statement(goal, at);
        if (*at == '}') return resolve_labels(goal, first_edge) ? at + 1 : 0;
        const struct goal_name name = name_at(goal, at);
        if (at == goal->text + goal->bytes || is_word(name, "rank") || is_word(name, "num_ranks"))
            return goal_wrong(goal, GOAL_CLOSE, at);
        at = is_operation(name) ? read_operation(goal, name) : read_labelled(goal, name);
    }
    return 0;
}

/* At most how many operations, dependencies and ranks the text can have. */
EXPORTED void goal_capacity(struct goal_text *goal);
void goal_capacity(struct goal_text *goal) {
    goal->operations = 1;
    goal->edges = goal->blocks = 0;
    for (const uint8_t *at = goal->text, *end = at + goal->bytes; at < end; at++) {
        goal->operations += *at == '\n' || *at == ';' || *at == '}' || *at == '{';
        goal->edges += *at == 'q';
        goal->blocks += *at == '{';
    }
    if (goal->edges > goal->operations) goal->edges = goal->operations;
}

/* Read a whole file. After an error, the block that it is in counts. */
EXPORTED void goal_scan(struct goal_text *goal);
void goal_scan(struct goal_text *goal) {
    const uint8_t *at = goal->text;
    goal->labels = goal->operations = goal->edges = goal->blocks = goal->ranks = 0;
    goal->error = GOAL_FINE;
    if (at[0] == 0xEF && at[1] == 0xBB && at[2] == 0xBF) at += 3; /* a mark of the order of bytes */
    at = read_header(goal, at);
    while (at) {
        at = next_statement(goal, at);
        if (at == goal->text + goal->bytes) return;
        at = read_rank(goal, at);
        if (at) at = read_body(goal, at);
    }
}

/* Order the dependencies by their source, those of one source as in the file, and tell where those of each begin. */
EXPORTED void goal_adjacency(struct goal_text *goal);
void goal_adjacency(struct goal_text *goal) {
    int64_t *start = goal->edge_start;
    for (int64_t operation = 0; operation <= goal->operations; operation++) start[operation] = 0;
    for (int64_t edge = 0; edge < goal->edges; edge++) start[goal->source[edge] + 1]++;
    for (int64_t operation = 0; operation < goal->operations; operation++) start[operation + 1] += start[operation];
    for (int64_t edge = 0; edge < goal->edges; edge++) { /* leaves in start[op] where the edges of op end */
        const int64_t place = start[goal->source[edge]]++;
        goal->edge_target[place] = goal->target[edge];
        goal->edge_early[place] = goal->early[edge];
    }
    for (int64_t operation = goal->operations; operation > 0; operation--) start[operation] = start[operation - 1];
    start[0] = 0;
}
