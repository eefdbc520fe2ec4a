/* A program that does no harm: it prints something and ends, both by its name and by the seed of the case. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What programs print is not the script's to say: some of it would be code, if somebody took it for that. */
static const char *const PRINTS[] = {
    "1 2\n", "q 7\n", "q 7\n", "", "3\n", "evil43\n", "a[$(evil44)]\n", "$(evil45)\n", "-v\n", "*\n", "x=evil46\n", "q\nr s\n",
};

int main(int count, char **words) {
    const char *name = count > 0 ? words[0] : "", *seed = getenv("OX_SEED");
    const char *slash = strrchr(name, '/');
    if (slash) name = slash + 1;
    if (!strcmp(name, "not-found") && count > 1) name = words[1];
    unsigned mix = seed ? (unsigned)strtoul(seed, NULL, 10) : 1;
    for (const char *at = name; *at; at++) mix = mix * 31 + (unsigned char)*at;
    mix ^= mix >> 15;
    mix *= 2246822519u;
    mix ^= mix >> 13;
    fputs(PRINTS[mix % (sizeof PRINTS / sizeof *PRINTS)], stdout);
    return mix / 64 % 3 == 0;
}
