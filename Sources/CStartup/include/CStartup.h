#ifndef CSTARTUP_H
#define CSTARTUP_H

/* Nothing to call: what is here takes the place of two parts of Swift's run time, in a program that has the
   run time inside, and of the C library's mathematics. */

#endif
