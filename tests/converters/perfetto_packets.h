// A writer of Perfetto's packets, by the format's definition, in the order in which PyTorch's
// profiler writes them.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/wire_buffer.h"

namespace reprise::pytorch {

class PerfettoPackets {
 public:
  // One packet; `fill` gets the buffer that its fields go to.
  template <typename Fill>
  void Add(const Fill& fill) {
    out_.Nested(1, [&] { fill(out_); });
  }
  template <typename Fill>
  void At(std::int64_t time_ns, const Fill& fill) {
    Add([&](WireBuffer& out) {
      out.VarintField(8, static_cast<std::uint64_t>(time_ns));
      out.VarintField(10, 1);
      fill(out);
    });
  }
  [[nodiscard]] std::string bytes() const { return std::string(out_.bytes()); }

  void Process(std::uint64_t track, std::int64_t pid, std::string_view name) {
    Add([&](WireBuffer& out) {
      out.Nested(60, [&] {
        out.VarintField(1, track);
        out.Nested(3, [&] {
          out.VarintField(1, static_cast<std::uint64_t>(pid));
          out.BytesField(6, name);
        });
      });
    });
  }
  void Thread(std::uint64_t track, std::int64_t pid, std::int64_t tid) {
    Add([&](WireBuffer& out) {
      out.Nested(60, [&] {
        out.VarintField(1, track);
        out.Nested(4, [&] {
          out.VarintField(1, static_cast<std::uint64_t>(pid));
          out.VarintField(2, static_cast<std::uint64_t>(tid));
        });
      });
    });
  }
  // Numbers from 1 on, in this order. `field`: 1 categories, 2 names, 24 stages and queues, 1001
  // arguments of launches; `text`: the entry's field.
  void Texts(std::uint32_t field, const std::vector<std::string>& texts, std::uint32_t text = 2) {
    Add([&](WireBuffer& out) {
      out.VarintField(10, 1);
      out.Nested(12, [&] {
        for (std::size_t i = 0; i < texts.size(); ++i) {
          out.Nested(field, [&] {
            out.VarintField(1, i + 1);
            out.TextField(text, texts[i]);
          });
        }
      });
    });
  }
  // An event of TrackEvent: 1 begins, 2 ends. `more`: further fields.
  template <typename More>
  void Slice(std::int64_t time_ns, std::uint64_t type, std::uint64_t track, std::uint64_t name,
             std::uint64_t category, const More& more) {
    At(time_ns, [&](WireBuffer& out) {
      out.Nested(11, [&] {
        out.VarintField(9, type);
        out.VarintField(11, track);
        if (name > 0) {
          out.VarintField(10, name);
        }
        if (category > 0) {
          out.VarintField(3, category);
        }
        more();
      });
    });
  }
  void Begin(std::int64_t time_ns, std::uint64_t track, std::uint64_t name,
             std::uint64_t category = 0) {
    Slice(time_ns, 1, track, name, category, [] {});
  }
  void End(std::int64_t time_ns, std::uint64_t track) {
    Slice(time_ns, 2, track, 0, 0, [] {});
  }
  // Within Slice's `more`.
  void Integer(std::string_view name, std::int64_t value) {
    out_.Nested(4, [&] {
      out_.BytesField(10, name);
      out_.VarintField(4, static_cast<std::uint64_t>(value));
    });
  }
  [[nodiscard]] WireBuffer& out() { return out_; }

  // Of work on a GPU: name and value.
  void Extra(std::string_view name, std::string_view value) {
    out_.Nested(6, [&] {
      out_.BytesField(1, name);
      out_.BytesField(2, value);
    });
  }
  void CounterNames(std::uint64_t id, std::int32_t gpu, const std::vector<std::string>& names) {
    Add([&](WireBuffer& out) {
      out.VarintField(10, 1);
      out.Nested(12, [&] {
        out.Nested(47, [&] {
          out.VarintField(1, id);
          out.VarintField(3, static_cast<std::uint64_t>(gpu));
          out.Nested(2, [&] {
            for (std::size_t i = 0; i < names.size(); ++i) {
              out.Nested(1, [&] {
                out.VarintField(1, i);
                out.BytesField(2, names[i]);
              });
            }
          });
        });
      });
    });
  }
  void Sample(std::int64_t time_ns, std::uint64_t id, std::uint64_t counter, double value) {
    At(time_ns, [&](WireBuffer& out) {
      out.Nested(52, [&] {
        out.VarintField(4, id);
        out.Nested(2, [&] {
          out.VarintField(1, counter);
          out.Fixed64Field(3, std::bit_cast<std::uint64_t>(value));
        });
      });
    });
  }

 private:
  WireBuffer out_;
};

}  // namespace reprise::pytorch
