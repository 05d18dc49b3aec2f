#include "replayer/memory/device_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "kernels/backend.h"
#include "kernels/tensor_access.h"
#include "replayer/memory/initial_values.h"

namespace reprise {
namespace {

StorageLife Persistent(std::int64_t incarnation, DType dtype, std::int64_t elements) {
  StorageLife life;
  life.incarnation = incarnation;
  life.bytes = elements * SizeOf(dtype);
  life.last = 1;
  life.persistent = true;
  life.dtype = dtype;
  return life;
}

class DeviceMemoryTest : public testing::Test {
 protected:
  void Create(std::vector<StorageLife> lives) {
    device_ = *OpenDevice({.backend = "host"});
    auto memory =
        DeviceMemory::Create(PlanMemory(std::move(lives), false), *Graph::Build({}, {}), *device_);
    ASSERT_TRUE(memory) << memory.error().message;
    memory_ = std::move(*memory);
  }
  [[nodiscard]] double At(std::int64_t incarnation, DType dtype, std::int64_t i) const {
    return LoadDouble(memory_->Find(incarnation)->host_data(), dtype, i);
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<DeviceMemory> memory_;
};

// What optimizers multiply by must not make everything vanish, nor what is divided by be 0.
TEST_F(DeviceMemoryTest, NumbersThatWereWrappedAreOne) {
  std::vector<StorageLife> lives;
  const std::array types = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16,
                            DType::kInt64,   DType::kInt32,   DType::kInt16};
  for (std::size_t i = 0; i < types.size(); ++i) {
    lives.push_back(Persistent(static_cast<std::int64_t>(i), types.at(i), 1));
  }
  Create(lives);
  for (std::size_t i = 0; i < types.size(); ++i) {
    EXPECT_EQ(At(static_cast<std::int64_t>(i), types.at(i), 0), 1) << Name(types.at(i));
  }
}

// Several threads make the values, each a part.
TEST_F(DeviceMemoryTest, LargeStoragesStartAlikeAndKeepTheirRanges) {
  constexpr std::int64_t kElements = 1'000'000;
  constexpr std::int64_t kSecond = 600'000;  // where the second range begins: within a part
  StorageLife life = Persistent(1, DType::kBFloat16, kElements);
  life.floats = {{0, {.low = 1, .high = 2}}, {kSecond, {.low = 4, .high = 8}}};
  StorageLife shorter = life;
  shorter.bytes = 1000 * SizeOf(life.dtype);
  const std::vector<std::byte> bytes = InitialBytes(life);
  EXPECT_EQ(bytes, InitialBytes(life));
  const std::vector<std::byte> first = InitialBytes(shorter);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), bytes.begin()));
  Create({life});
  for (std::int64_t i = 0; i < kElements; ++i) {
    const double value = At(1, life.dtype, i);
    ASSERT_TRUE(i < kSecond ? value >= 1 && value <= 2 : value >= 4 && value <= 8) << i;
  }
}

TEST_F(DeviceMemoryTest, TensorsAreSmallPositiveOrValidIndices) {
  StorageLife indices = Persistent(4, DType::kInt64, 1000);
  indices.index_bound = 7;
  StorageLife result = Persistent(5, DType::kFloat32, 1000);
  result.persistent = false;
  Create({Persistent(1, DType::kFloat32, 1000), Persistent(2, DType::kFloat16, 1000),
          Persistent(3, DType::kBFloat16, 1000), indices, result});
  for (const auto& [incarnation, dtype] :
       {std::pair(1, DType::kFloat32), {2, DType::kFloat16}, {3, DType::kBFloat16}}) {
    for (int i = 0; i < 1000; ++i) {
      const double value = At(incarnation, dtype, i);
      ASSERT_TRUE(value > 0 && value < 0.07) << value;
    }
    EXPECT_NE(At(incarnation, dtype, 0), At(incarnation, dtype, 1));
  }
  bool differ = false;
  for (int i = 0; i < 1000; ++i) {
    const double index = At(4, DType::kInt64, i);
    ASSERT_TRUE(index >= 0 && index < 7) << index;
    differ = differ || index != At(4, DType::kInt64, 0);
    ASSERT_EQ(At(5, DType::kFloat32, i), 0);
  }
  EXPECT_TRUE(differ);
}

TEST_F(DeviceMemoryTest, ValuesAreWithinTheirRangeAndNormal) {
  const std::array types = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16};
  std::vector<StorageLife> lives;
  for (std::size_t i = 0; i < types.size(); ++i) {
    lives.push_back(Persistent(static_cast<std::int64_t>(i), types.at(i), 10'000));
    lives.back().floats = {{0, {-0.03, 0.03}}};
  }
  Create(lives);
  for (std::size_t k = 0; k < types.size(); ++k) {
    int negative = 0;
    double sum = 0;
    for (int i = 0; i < 10'000; ++i) {
      const double value = At(static_cast<std::int64_t>(k), types.at(k), i);
      // The smallest normal half is 0.00006.
      ASSERT_TRUE(std::abs(value) > 0.0001 && std::abs(value) < 0.0302) << value;
      negative += value < 0 ? 1 : 0;
      sum += value;
    }
    EXPECT_NEAR(negative, 5000, 200) << Name(types.at(k));
    EXPECT_NEAR(sum / 10'000, 0, 0.001) << Name(types.at(k));
  }
}

TEST_F(DeviceMemoryTest, IndicesAreOfTheirRangeAndOrder) {
  StorageLife recorded = Persistent(1, DType::kInt64, 1000);
  recorded.index_low = 5;
  recorded.index_bound = 9;
  StorageLife shuffled = Persistent(2, DType::kInt32, 100);
  shuffled.index_bound = 100;
  shuffled.order = IndexOrder::kPermutation;
  StorageLife offsets = Persistent(3, DType::kInt64, 4);
  offsets.index_bound = 12;
  offsets.order = IndexOrder::kRising;
  StorageLife one = Persistent(4, DType::kInt64, 1);
  one.index_low = 7;
  one.index_bound = 8;
  Create({recorded, shuffled, offsets, one});
  std::array<int, 9> seen{};
  for (int i = 0; i < 1000; ++i) {
    const double value = At(1, DType::kInt64, i);
    ASSERT_TRUE(value >= 5 && value < 9) << value;
    ++seen.at(static_cast<std::size_t>(value));
  }
  for (std::size_t value = 5; value < 9; ++value) {
    EXPECT_NEAR(seen.at(value), 250, 60);
  }
  std::vector<int> numbers(100);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<int>(At(2, DType::kInt32, static_cast<std::int64_t>(i)));
  }
  EXPECT_FALSE(std::is_sorted(numbers.begin(), numbers.end()));
  std::sort(numbers.begin(), numbers.end());
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(numbers[static_cast<std::size_t>(i)], i);
    if (i < 4) {
      EXPECT_EQ(At(3, DType::kInt64, i), 3 * i);
    }
  }
  EXPECT_EQ(At(4, DType::kInt64, 0), 7);
}

// A parameter that a step decays would vanish, and one that it adds to would grow.
TEST_F(DeviceMemoryTest, WhatAStepChangesStartsEachIterationAlike) {
  StorageLife changing = Persistent(1, DType::kFloat32, 8);
  changing.changes = true;
  Create({changing, Persistent(2, DType::kFloat32, 8)});
  const double before = At(1, DType::kFloat32, 3);
  StoreDouble(memory_->Find(1)->host_data(), DType::kFloat32, 3, 1e30);
  StoreDouble(memory_->Find(2)->host_data(), DType::kFloat32, 3, 0.5);
  ASSERT_TRUE(memory_->Restore(1));
  EXPECT_EQ(At(1, DType::kFloat32, 3), before);
  EXPECT_EQ(At(2, DType::kFloat32, 3), 0.5);  // nothing in a step writes it
}

}  // namespace
}  // namespace reprise
