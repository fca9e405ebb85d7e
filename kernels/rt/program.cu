// The device program of the RT backend: rays along Z, and what happens at every triangle they meet.
//
// A ray's payload: its segment, how many triangles it met, how many rows it counted, and the first
// totals of a job without groups, so that such a job costs one atomic operation a ray instead of one
// a row (RayDB's one loss against a scan, section 6.2).

#include <optix.h>

#define MOST_TOTALS 16
#define MOST_IN_REGISTERS 4

typedef long long Word;
typedef unsigned long long Unsigned;

enum Kind { SUM, HIGH, LOW, FLOAT, LEAST, MOST };

// A word for each group, over a column in the order of the scene's rows.
// width: bytes of an integer, or 0 for float64. ordered: floats as integers of the same order.
struct Total {
    const void* values;
    const signed char* valid;
    Word* words;
    Word neutral;
    int kind;
    int width;
    int ordered;
    int unused;
};

struct Params {
    OptixTraversableHandle scene;
    const float* origin_z;
    const float* lengths;
    const float* offset_x;
    const Word* groups;
    const float* lane_x;
    const float* lane_y;
    const Word* tuple_groups;
    const int* tuple_of;
    const Word* firsts;
    // In the paper's encoding a bit for each row that was met; else null.
    unsigned int* met;
    // For each row its group, in a launch that lists rows; else null.
    Word* row_groups;
    Unsigned* rows;
    Unsigned* hit_count;
    unsigned int first_segment;
    int total_count;
    int in_registers;
    int unused;
    Total totals[MOST_TOTALS];
};

extern "C" {
__constant__ Params params;
}

static __forceinline__ __device__ Word load(const Total& total, Word row)
{
    switch (total.width) {
        case 1: return static_cast<const signed char*>(total.values)[row];
        case 2: return static_cast<const short*>(total.values)[row];
        case 4: return static_cast<const int*>(total.values)[row];
        default: return static_cast<const Word*>(total.values)[row];
    }
}

// NaN is the greatest number; below zero the order of the bits is turned round.
static __forceinline__ __device__ Word ordered(Word bits)
{
    const Word greatest = 0x7fffffffffffffffLL;
    if ((bits & greatest) > 0x7ff0000000000000LL) return greatest - 1;
    return bits < 0 ? bits ^ greatest : bits;
}

static __forceinline__ __device__ Word combine(int kind, Word one, Word other)
{
    switch (kind) {
        case FLOAT: return __double_as_longlong(__longlong_as_double(one) + __longlong_as_double(other));
        case LEAST: return one < other ? one : other;
        case MOST: return one > other ? one : other;
        default: return one + other;
    }
}

static __forceinline__ __device__ void add(int kind, Word* word, Word value)
{
    switch (kind) {
        case FLOAT: atomicAdd(reinterpret_cast<double*>(word), __longlong_as_double(value)); break;
        case LEAST: atomicMin(word, value); break;
        case MOST: atomicMax(word, value); break;
        default: atomicAdd(reinterpret_cast<Unsigned*>(word), static_cast<Unsigned>(value));
    }
}

// Return a total of the rows of one bucket.
static __forceinline__ __device__ Word total_of(const Total& total, Word first, Word last)
{
    Word word = total.neutral;
    for (Word row = first; row < last; ++row) {
        if (total.valid && !total.valid[row]) continue;
        Word value = load(total, row);
        if (total.ordered) value = ordered(value);
        if (total.kind == HIGH) value >>= 32;
        if (total.kind == LOW) value &= 0xffffffffLL;
        word = combine(total.kind, word, value);
    }
    return word;
}

static __forceinline__ __device__ Word join(unsigned int low, unsigned int high)
{
    return static_cast<Word>((static_cast<Unsigned>(high) << 32) | low);
}

static __forceinline__ __device__ unsigned int low_of(Word word)
{
    return static_cast<unsigned int>(word);
}

static __forceinline__ __device__ unsigned int high_of(Word word)
{
    return static_cast<unsigned int>(static_cast<Unsigned>(word) >> 32);
}

extern "C" __global__ void __raygen__lanes()
{
    const uint3 index = optixGetLaunchIndex();
    const unsigned int segment = params.first_segment + index.z;
    const float3 origin = make_float3(
        params.lane_x[index.x] + params.offset_x[segment],
        params.lane_y[index.y],
        params.origin_z[segment]);
    unsigned int p0 = segment, p1 = 0, p2 = 0;
    Word words[MOST_IN_REGISTERS];
    for (int number = 0; number < MOST_IN_REGISTERS; ++number)
        words[number] = number < params.total_count ? params.totals[number].neutral : 0;
    unsigned int p3 = low_of(words[0]), p4 = high_of(words[0]);
    unsigned int p5 = low_of(words[1]), p6 = high_of(words[1]);
    unsigned int p7 = low_of(words[2]), p8 = high_of(words[2]);
    unsigned int p9 = low_of(words[3]), p10 = high_of(words[3]);
    optixTrace(
        params.scene, origin, make_float3(0.0f, 0.0f, 1.0f), 0.0f, params.lengths[segment], 0.0f,
        OptixVisibilityMask(255), OPTIX_RAY_FLAG_ENFORCE_ANYHIT | OPTIX_RAY_FLAG_DISABLE_CLOSESTHIT,
        0, 1, 0, p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10);
    if (p1) atomicAdd(params.hit_count, static_cast<Unsigned>(p1));
    if (!params.in_registers || !p2) return;
    words[0] = join(p3, p4);
    words[1] = join(p5, p6);
    words[2] = join(p7, p8);
    words[3] = join(p9, p10);
    atomicAdd(params.rows, static_cast<Unsigned>(p2));
    for (int number = 0; number < params.total_count; ++number)
        add(params.totals[number].kind, params.totals[number].words, words[number]);
}

static __forceinline__ __device__ void add_in_registers(Word first, Word last)
{
    optixSetPayload_2(optixGetPayload_2() + static_cast<unsigned int>(last - first));
    for (int number = 0; number < params.total_count; ++number) {
        const Total& total = params.totals[number];
        const Word word = total_of(total, first, last);
        Word sum;
        switch (number) {
            case 0:
                sum = combine(total.kind, join(optixGetPayload_3(), optixGetPayload_4()), word);
                optixSetPayload_3(low_of(sum));
                optixSetPayload_4(high_of(sum));
                break;
            case 1:
                sum = combine(total.kind, join(optixGetPayload_5(), optixGetPayload_6()), word);
                optixSetPayload_5(low_of(sum));
                optixSetPayload_6(high_of(sum));
                break;
            case 2:
                sum = combine(total.kind, join(optixGetPayload_7(), optixGetPayload_8()), word);
                optixSetPayload_7(low_of(sum));
                optixSetPayload_8(high_of(sum));
                break;
            default:
                sum = combine(total.kind, join(optixGetPayload_9(), optixGetPayload_10()), word);
                optixSetPayload_9(low_of(sum));
                optixSetPayload_10(high_of(sum));
        }
    }
}

extern "C" __global__ void __anyhit__bucket()
{
    const unsigned int bucket = optixGetPrimitiveIndex();
    optixSetPayload_1(optixGetPayload_1() + 1);
    const Word part = params.tuple_groups[params.tuple_of[bucket]];
    bool counts = part >= 0;
    if (counts && params.met) {
        const unsigned int bit = 1u << (bucket & 31);
        counts = !(atomicOr(params.met + (bucket >> 5), bit) & bit);
    }
    if (counts) {
        const Word group = params.groups[optixGetPayload_0()] + part;
        const Word first = params.firsts[bucket], last = params.firsts[bucket + 1];
        if (params.row_groups) {
            for (Word row = first; row < last; ++row) params.row_groups[row] = group;
        } else if (params.in_registers) {
            add_in_registers(first, last);
        } else {
            atomicAdd(params.rows + group, static_cast<Unsigned>(last - first));
            for (int number = 0; number < params.total_count; ++number) {
                const Total& total = params.totals[number];
                const Word word = total_of(total, first, last);
                if (word != total.neutral || total.kind < LEAST)
                    add(total.kind, total.words + group, word);
            }
        }
    }
    optixIgnoreIntersection();
}

extern "C" __global__ void __miss__nothing()
{
}
