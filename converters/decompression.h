// gzip and zstd, recognised by content.
#pragma once

#include <memory>
#include <string_view>

#include "converters/text_source.h"
#include "core/result.h"

namespace reprise {

// Unpacks while reading, where `head`, the first bytes of the file, is of gzip or zstd; returns
// `bytes` otherwise. Several gzip members or zstd frames in a row are one text. Errors name the
// file and the byte of the packed file where it stopped making sense.
[[nodiscard]] Result<std::unique_ptr<TextSource>> Unpacked(std::unique_ptr<TextSource> bytes,
                                                           std::string_view head);

}  // namespace reprise
