#include "converters/text_file.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace reprise {
namespace {

constexpr std::size_t kPadding = 64;  // at least SIMDJSON_PADDING

Result<std::string> ReadBytes(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (file == nullptr) {
    return BadInput(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  }
  std::string bytes;
  if (std::fseek(file.get(), 0, SEEK_END) == 0) {
    const long size = std::ftell(file.get());
    bytes.reserve(static_cast<std::size_t>(std::max(size, 0L)) + kPadding);
    std::rewind(file.get());
  }
  constexpr std::size_t kBlock = 1 << 20;
  for (;;) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kBlock);
    const std::size_t got = std::fread(bytes.data() + before, 1, kBlock, file.get());
    bytes.resize(before + got);
    if (got == 0) {
      break;
    }
  }
  if (std::ferror(file.get()) != 0) {
    return BadInput(
        fmt::format("{}: reading failed at byte {}: {}", path, bytes.size(), std::strerror(errno)));
  }
  return bytes;
}

bool IsGzip(std::string_view bytes) {
  return bytes.size() >= 2 && std::memcmp(bytes.data(), "\x1f\x8b", 2) == 0;
}

// The last four bytes of a gzip member are its unpacked size modulo 2^32: a good first guess.
std::size_t UnpackedSizeHint(std::string_view bytes) {
  std::uint32_t size = 0;
  if (bytes.size() >= sizeof(size)) {
    std::memcpy(&size, bytes.data() + bytes.size() - sizeof(size), sizeof(size));
  }
  // Text hardly ever packs better than 1:200; a damaged trailer must not ask for gigabytes.
  return std::min<std::size_t>(size, bytes.size() * 200) + kPadding;
}

Result<std::string> Unpack(const std::string& path, std::string& packed) {
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
    stream.next_in = reinterpret_cast<Bytef*>(packed.data() + consumed);
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
      if (!IsGzip(std::string_view(packed).substr(consumed))) {
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

bool IsZstd(std::string_view bytes) { return bytes.starts_with("\x28\xb5\x2f\xfd"); }

Result<std::string> UnpackZstd(const std::string& path, std::string_view packed) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     &ZSTD_freeDCtx);
  ZSTD_inBuffer input{packed.data(), packed.size(), 0};
  std::string text;
  // Several frames in a row are one file.
  for (std::size_t left = 1; input.pos < input.size || left != 0;) {
    const std::size_t before = text.size();
    text.resize(before + std::max(ZSTD_DStreamOutSize(), before / 2));
    ZSTD_outBuffer output{text.data() + before, text.size() - before, 0};
    left = ZSTD_decompressStream(context.get(), &output, &input);
    text.resize(before + output.pos);
    if (ZSTD_isError(left) != 0) {
      return BadInput(
          fmt::format("{}: damaged zstd data at byte {} ({}); copy or capture the file again", path,
                      input.pos, ZSTD_getErrorName(left)));
    }
    if (left != 0 && input.pos == input.size && output.pos < output.size) {
      return BadInput(fmt::format(
          "{}: truncated: the zstd data end early at byte {}; copy or capture the file again", path,
          packed.size()));
    }
  }
  return text;
}

// As much as can be unpacked of a beginning.
std::string UnpackHead(std::string& packed, std::size_t bytes) {
  std::string text(bytes, '\0');
  if (IsZstd(packed)) {
    const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                       &ZSTD_freeDCtx);
    ZSTD_inBuffer input{packed.data(), packed.size(), 0};
    ZSTD_outBuffer output{text.data(), text.size(), 0};
    while (output.pos < output.size && input.pos < input.size &&
           ZSTD_isError(ZSTD_decompressStream(context.get(), &output, &input)) == 0) {
    }
    text.resize(output.pos);
    return text;
  }
  z_stream stream{};
  constexpr int kGzipWindow = 15 + 16;
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) {
    return {};
  }
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  static_cast<void>(inflate(&stream, Z_SYNC_FLUSH));
  text.resize(text.size() - stream.avail_out);
  inflateEnd(&stream);
  return text;
}

}  // namespace

std::string ReadHead(const std::string& path, std::size_t bytes) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (file == nullptr) {
    return {};
  }
  std::string head(bytes, '\0');
  head.resize(std::fread(head.data(), 1, bytes, file.get()));
  return IsGzip(head) || IsZstd(head) ? UnpackHead(head, bytes) : head;
}

Result<TextFile> TextFile::Read(const std::string& path) {
  Result<std::string> bytes = ReadBytes(path);
  if (bytes && IsGzip(*bytes)) {
    bytes = Unpack(path, *bytes);
  } else if (bytes && IsZstd(*bytes)) {
    bytes = UnpackZstd(path, *bytes);
  }
  if (!bytes) {
    return tl::unexpected<Error>(std::move(bytes.error()));
  }
  return FromText(path, std::move(*bytes));
}

TextFile TextFile::FromText(std::string path, std::string text) {
  TextFile file;
  file.path_ = std::move(path);
  file.size_ = text.size();
  file.text_ = std::move(text);
  file.text_.append(kPadding, '\0');
  return file;
}

}  // namespace reprise
