#include "converters/unpack.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>

namespace reprise {
namespace {

constexpr std::size_t kPadding = 64;  // what the reader appends

// The last four bytes of a gzip member are its unpacked size modulo 2^32: a good first guess.
std::size_t UnpackedSizeHint(std::string_view bytes) {
  std::uint32_t size = 0;
  if (bytes.size() >= sizeof(size)) {
    std::memcpy(&size, bytes.data() + bytes.size() - sizeof(size), sizeof(size));
  }
  // Text hardly ever packs better than 1:200; a damaged trailer must not ask for gigabytes.
  return std::min<std::size_t>(size, bytes.size() * 200) + kPadding;
}

}  // namespace

bool IsGzip(std::string_view bytes) {
  return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

bool IsZstd(std::string_view bytes) { return bytes.starts_with("\x28\xb5\x2f\xfd"); }

Result<std::string> UnpackGzip(const std::string& path, std::string_view packed) {
  z_stream stream{};
  constexpr int kGzipWindow = 15 + 16;
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) {
    return EnvironmentError("zlib could not be initialised (out of memory?)");
  }
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, &inflateEnd);
  std::string text(UnpackedSizeHint(packed), '\0');
  std::size_t used = 0;
  std::size_t consumed = 0;
  constexpr std::size_t kMost = 1U << 30;  // zlib counts in 32 bits
  for (;;) {
    if (used == text.size()) {
      text.resize(text.size() * 2);
    }
    const std::size_t feed = std::min(packed.size() - consumed, kMost);
    const std::size_t room = std::min(text.size() - used, kMost);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()) + consumed);
    stream.avail_in = static_cast<uInt>(feed);
    stream.next_out = reinterpret_cast<Bytef*>(text.data() + used);
    stream.avail_out = static_cast<uInt>(room);
    const int code = inflate(&stream, Z_NO_FLUSH);
    consumed += feed - stream.avail_in;
    used += room - stream.avail_out;
    if (code == Z_STREAM_END) {
      if (consumed == packed.size()) {
        break;
      }
      if (!IsGzip(packed.substr(consumed))) {
        return BadInput(fmt::format("{}: {} bytes after the end of the gzip data, from byte {}",
                                    path, packed.size() - consumed, consumed));
      }
      inflateReset(&stream);  // several members in a row are one file
      continue;
    }
    if (code == Z_BUF_ERROR && consumed == packed.size() && stream.avail_out != 0) {
      return BadInput(fmt::format(
          "{}: truncated: the gzip data end early at byte {}; copy or capture the file again", path,
          packed.size()));
    }
    if (code != Z_OK && code != Z_BUF_ERROR) {
      return BadInput(
          fmt::format("{}: damaged gzip data at byte {} ({}); copy or capture the file again", path,
                      consumed, stream.msg == nullptr ? "no detail" : stream.msg));
    }
    if (consumed == packed.size() && stream.avail_out != 0) {
      return BadInput(fmt::format(
          "{}: truncated: the gzip data end early at byte {}; copy or capture the file again", path,
          packed.size()));
    }
  }
  text.resize(used);
  return text;
}

Result<std::string> UnpackZstd(const std::string& path, std::string_view packed) {
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                        &ZSTD_freeDCtx);
  if (context == nullptr) {
    return EnvironmentError("zstd could not be initialised (out of memory?)");
  }
  std::string text(packed.size() * 8 + kPadding, '\0');
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  ZSTD_outBuffer out{text.data(), text.size(), 0};
  for (;;) {
    const std::size_t left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left) != 0) {
      return BadInput(
          fmt::format("{}: damaged zstd data at byte {} ({}); copy or capture the file again", path,
                      in.pos, ZSTD_getErrorName(left)));
    }
    const bool full = out.pos == out.size;
    if (in.pos == in.size && !full) {
      if (left != 0) {
        return BadInput(fmt::format(
            "{}: truncated: the zstd data end early at byte {}; copy or capture the file again",
            path, packed.size()));
      }
      break;
    }
    if (in.pos == in.size && left == 0) {
      break;
    }
    if (full) {
      text.resize(text.size() * 2);
      out.dst = text.data();
      out.size = text.size();
    }
  }
  text.resize(out.pos);
  return text;
}

std::string ReadHead(const std::string& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(most, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(most));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  std::string text(most, '\0');
  if (IsGzip(bytes)) {
    z_stream stream{};
    constexpr int kGzipWindow = 15 + 16;
    if (inflateInit2(&stream, kGzipWindow) != Z_OK) {
      return {};
    }
    const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, &inflateEnd);
    stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(text.data());
    stream.avail_out = static_cast<uInt>(text.size());
    static_cast<void>(inflate(&stream, Z_NO_FLUSH));  // as far as it goes
    text.resize(text.size() - stream.avail_out);
    return text;
  }
  if (IsZstd(bytes)) {
    const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                          &ZSTD_freeDCtx);
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    ZSTD_outBuffer out{text.data(), text.size(), 0};
    while (in.pos < in.size && out.pos < out.size) {
      if (const std::size_t left = ZSTD_decompressStream(context.get(), &out, &in);
          ZSTD_isError(left) != 0) {
        break;
      }
    }
    text.resize(out.pos);
    return text;
  }
  return bytes;
}

}  // namespace reprise
