/* Passes the USDT probe foretop:step argv[1] times once a line has come, with the sizes 1000, 1001 and so on, and foretop:done
 * at the end. The notes are what <sys/sdt.h> of systemtap writes, so that no such package is needed. */
#include <stdio.h>
#include <stdlib.h>

#define NOTE(name, arguments) \
    "990: nop\n" \
    ".pushsection .note.stapsdt,\"\",\"note\"\n" \
    ".balign 4\n" \
    ".4byte 992f-991f, 994f-993f, 3\n" \
    "991: .asciz \"stapsdt\"\n" \
    "992: .balign 4\n" \
    "993: .8byte 990b, _.stapsdt.base, 0\n" \
    ".asciz \"foretop\"\n" \
    ".asciz \"" name "\"\n" \
    ".asciz \"" arguments "\"\n" \
    "994: .balign 4\n" \
    ".popsection\n" \
    ".ifndef _.stapsdt.base\n" \
    ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
    ".weak _.stapsdt.base\n" \
    ".hidden _.stapsdt.base\n" \
    "_.stapsdt.base: .space 1\n" \
    ".size _.stapsdt.base,1\n" \
    ".popsection\n" \
    ".endif\n"

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 0;
    char line[8];

    if (fgets(line, sizeof line, stdin) == NULL)
        return 1;
    for (long i = 0; i < n; i++)
        __asm__ volatile(NOTE("step", "8@%0 -4@%1") : : "r"(1000 + i), "r"((int)-i));
    __asm__ volatile(NOTE("done", ""));
    return 0;
}
