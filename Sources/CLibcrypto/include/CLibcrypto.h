#ifndef CLIBCRYPTO_H
#define CLIBCRYPTO_H

#endif
