/* All C functions of simcodesign: one translation unit, one shared library. */
#include "layout.h"

#include "lru_stack.c"
#include "stack_distances.c"
#include "text_parser.c"

#if __has_include("../../engine/native/all.c")
#include "../../engine/native/all.c"
#endif
