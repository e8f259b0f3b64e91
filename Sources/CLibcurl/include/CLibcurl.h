#ifndef CLIBCURL_H
#define CLIBCURL_H

#endif
