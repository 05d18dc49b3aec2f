#include "et_schema/storage.h"

#include <fmt/format.h>

#include <limits>

#include "et_schema/foreign_fields.h"
#include "et_schema/storage_codec.h"
#include "et_schema/storage_fields.h"

namespace reprise {
namespace {

// Linux counts sectors of 512 bytes whatever the device has.
constexpr std::int64_t kSectorBytes = 512;

template <typename T>
bool ReadStorageValue(WireCursor& cursor, WireType wire, T& out) {
  if constexpr (std::is_same_v<T, std::string>) {
    return wire == WireType::kBytes && ReadBytes(cursor, out);
  } else {
    std::uint64_t bits = 0;
    const bool ok = wire == WireType::kVarint && cursor.Varint(bits);
    out = static_cast<T>(bits);
    return ok;
  }
}

template <typename Operation>
bool ParseOperation(std::string_view message, Operation& operation, std::uint64_t& unknown_fields) {
  return ForEachField(message, [&](std::uint32_t field, WireType wire, WireCursor& cursor) {
    std::optional<bool> read;
    ForEachStorageField<Operation>([&](const auto& row) {
      const WireType own = row.kIsText ? WireType::kBytes : WireType::kVarint;
      if (row.number == field && wire == own) {
        read = ReadStorageValue(cursor, wire, row.Of(operation));
      }
    });
    unknown_fields += read ? 0 : 1;
    return read;
  });
}

template <typename Operation>
void PutOperation(const Operation& operation, WireBuffer& out) {
  out.Nested(StorageTable<Operation>::kNumber, [&] {
    ForEachStorageField<Operation>([&]<typename Row>(const Row& row) {
      const auto& value = row.Of(operation);
      if (value == typename Row::Value{}) {
        return;
      }
      if constexpr (Row::kIsText) {
        out.TextField(row.number, value);
      } else {
        out.VarintField(row.number, static_cast<std::uint64_t>(value));
      }
    });
  });
}

}  // namespace

std::string SchemaNames::Of(SchemaNumber number) const {
  return Has(number) ? std::string(names[static_cast<std::size_t>(number)])
                     : fmt::format("{}", number);
}

bool HasAName(std::string_view message) {
  bool name = false;
  return ForEachField(message,
                      [&](std::uint32_t field, WireType wire, WireCursor&) {
                        name = name || (field == 1 && wire == WireType::kBytes);
                        return std::optional<bool>();
                      }) &&
         name;
}

bool ParseStorage(std::string_view message, std::optional<StorageWork>& work,
                  std::uint64_t& unknown_fields) {
  if (HasAName(message)) {
    ++unknown_fields;
    return true;
  }
  StorageWork& out = work ? *work : work.emplace();
  return ForEachField(message, [&](std::uint32_t field, WireType wire, WireCursor& cursor) {
    std::optional<bool> read;
    if (field == kStorageLevelField && wire == WireType::kVarint) {
      return std::optional(ReadStorageValue(cursor, wire, out.level));
    }
    ForEachStorageOperation([&]<typename Operation>(std::type_identity<Operation>) {
      if (field != StorageTable<Operation>::kNumber || wire != WireType::kBytes) {
        return;
      }
      if (!std::holds_alternative<Operation>(out.detail)) {
        out.detail.template emplace<Operation>();
      }
      std::string_view bytes;
      read = cursor.Bytes(bytes) &&
             ParseOperation(bytes, std::get<Operation>(out.detail), unknown_fields);
    });
    unknown_fields += read ? 0 : 1;
    return read;
  });
}

void PutStorage(const StorageWork& work, WireBuffer& out) {
  out.Nested(kStorageField, [&] {
    if (work.level != 0) {
      out.VarintField(kStorageLevelField, static_cast<std::uint64_t>(std::int64_t{work.level}));
    }
    VisitDetail(work, [&](const auto& detail) { PutOperation(detail, out); });
  });
}

std::string OperationName(const StorageWork& work) {
  std::string name = schema_names::kLevel.Of(work.level);
  VisitDetail(work, [&]<typename Operation>(const Operation& detail) {
    ForEachStorageField<std::remove_const_t<Operation>>([&](const auto& row) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(row.Of(detail))>, SchemaNumber>) {
        if (row.names != nullptr && (row.Of(detail) != 0 || row.number == 1)) {
          name += " " + row.names->Of(row.Of(detail));
        }
      }
    });
  });
  return name;
}

std::int64_t OperationBytes(const StorageWork& work) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (const auto* file = std::get_if<FileOperation>(&work.detail)) {
    return file->size_bytes == 0 ? -1
                                 : static_cast<std::int64_t>(std::min(file->size_bytes, kMost));
  }
  const auto* block = std::get_if<BlockOperation>(&work.detail);
  return block == nullptr || block->nr_sectors == 0 ? -1 : block->nr_sectors * kSectorBytes;
}

bool DetailFitsLevel(const StorageWork& work) {
  bool fits = true;
  VisitDetail(work, [&]<typename Operation>(const Operation&) {
    fits =
        schema_names::kLevel.Of(work.level) == StorageTable<std::remove_const_t<Operation>>::kName;
  });
  return fits;
}

}  // namespace reprise
