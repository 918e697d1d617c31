/* All C functions of simcodesign: one translation unit, one shared library. A file may use those before it. */
#include "layout.h"

#include "lru_stack.c"
#include "stack_distances.c"
#include "text_parser.c"

#include "cache_sets.c"

#include "cache_hierarchy.c"
#include "shared_caches.c"

#include "goal_scanner.c"

#include "goal_printer.c"

#if __has_include("../../engine/native/all.c")
#include "../../engine/native/all.c"
#endif
