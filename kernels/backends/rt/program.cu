// The device program of the RT backend: rays along Z, and what happens at every triangle they meet.
//
// A ray's payload: its segment, how many triangles it met, and the totals of the group
// that it met last: they are added to memory when another group comes, and at the end. A ray whose
// rows have one group, or whose job has none, costs one atomic operation for each total instead of
// one a row (RayDB's one loss against a scan, section 6.2).

#include <optix.h>

#define MAX_TOTALS 16
#define MAX_IN_REGISTERS 4
#define HIT_COUNTS 1024

typedef long long Word;
typedef unsigned long long Unsigned;

enum Kind { SUM, HIGH, LOW, FLOAT, LEAST, MOST, SQUARE, SQUARE_HIGH, SQUARE_LOW };

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
    // For each ray its segment, and its lane: y * lane_count + x.
    const unsigned int* segments;
    const unsigned int* lanes;
    // What each tuple adds to the group, or -1; null where none adds anything.
    const Word* tuple_groups;
    // Of each row its tuple, in unsigned integers of tuple_width bytes.
    const void* tuples;
    const unsigned int* firsts;
    // In the paper's encoding a bit for each row that was met; else null.
    unsigned int* met;
    // For each row its group, in a launch that lists rows; else null.
    Word* row_groups;
    // Of each group as many copies as copy_count, group_count apart, so that rays that add to the
    // same group seldom wait for each other; so it is with the words of the totals.
    Unsigned* rows;
    Unsigned* hit_counts;
    Unsigned group_count;
    unsigned int copy_count;
    unsigned int first_ray;
    unsigned int lane_count;
    int in_registers;
    int total_count;
    int tuple_width;
    Total totals[MAX_TOTALS];
};

extern "C" {
__constant__ Params params;
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

static __forceinline__ __device__ Word load(const Total& total, unsigned int row)
{
    switch (total.width) {
        case 1: return static_cast<const signed char*>(total.values)[row];
        case 2: return static_cast<const short*>(total.values)[row];
        case 4: return static_cast<const int*>(total.values)[row];
        default: return static_cast<const Word*>(total.values)[row];
    }
}

template <typename T>
static __forceinline__ __device__ Word sum_of(const void* values, unsigned int first, unsigned int last)
{
    Word sum = 0;
    // Four loads are on their way at once.
#pragma unroll 4
    for (unsigned int row = first; row < last; ++row) sum += static_cast<const T*>(values)[row];
    return sum;
}

// Return a total of the rows of one bucket. Plain sums, which most jobs ask for, have loops of their
// own; the others share one, which keeps the program small.
static __forceinline__ __device__ Word total_of(const Total& total, unsigned int first, unsigned int last)
{
    if (total.kind == SUM && !total.valid)
        switch (total.width) {
            case 1: return sum_of<signed char>(total.values, first, last);
            case 2: return sum_of<short>(total.values, first, last);
            case 4: return sum_of<int>(total.values, first, last);
            default: return sum_of<Word>(total.values, first, last);
        }
    Word word = total.neutral;
#pragma unroll 1
    for (unsigned int row = first; row < last; ++row) {
        if (total.valid && !total.valid[row]) continue;
        Word value = load(total, row);
        if (total.ordered) value = ordered(value);
        if (total.kind >= SQUARE) value *= value;
        if (total.kind == HIGH || total.kind == SQUARE_HIGH) value >>= 32;
        if (total.kind == LOW || total.kind == SQUARE_LOW) value &= 0xffffffffLL;
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

// Return where a group's totals are that this ray adds to.
static __forceinline__ __device__ Unsigned place_of(unsigned int group)
{
    return params.group_count * (optixGetLaunchIndex().x % params.copy_count) + group;
}

// The totals of one group, in registers.
struct Held {
    unsigned int rows;
    unsigned int group;
    Word words[MAX_IN_REGISTERS];
};

static __forceinline__ __device__ void clear(Held& held)
{
    held.rows = 0;
#pragma unroll
    for (int number = 0; number < MAX_IN_REGISTERS; ++number)
        held.words[number] = number < params.total_count ? params.totals[number].neutral : 0;
}

static __forceinline__ __device__ void add_to_memory(const Held& held)
{
    const Unsigned place = place_of(held.group);
    atomicAdd(params.rows + place, static_cast<Unsigned>(held.rows));
#pragma unroll
    for (int number = 0; number < MAX_IN_REGISTERS; ++number)
        if (number < params.total_count)
            add(params.totals[number].kind, params.totals[number].words + place, held.words[number]);
}

extern "C" __global__ void __raygen__lanes()
{
    const unsigned int ray = params.first_ray + optixGetLaunchIndex().x;
    const unsigned int segment = params.segments[ray], lane = params.lanes[ray];
    const float3 origin = make_float3(
        params.lane_x[lane % params.lane_count] + params.offset_x[segment],
        params.lane_y[lane / params.lane_count],
        params.origin_z[segment]);
    Held held;
    clear(held);
    unsigned int p0 = segment, p1 = 0, p2 = 0, p3 = 0;
    unsigned int p4 = low_of(held.words[0]), p5 = high_of(held.words[0]);
    unsigned int p6 = low_of(held.words[1]), p7 = high_of(held.words[1]);
    unsigned int p8 = low_of(held.words[2]), p9 = high_of(held.words[2]);
    unsigned int p10 = low_of(held.words[3]), p11 = high_of(held.words[3]);
    optixTrace(
        params.scene, origin, make_float3(0.0f, 0.0f, 1.0f), 0.0f, params.lengths[segment], 0.0f,
        OptixVisibilityMask(255), OPTIX_RAY_FLAG_ENFORCE_ANYHIT | OPTIX_RAY_FLAG_DISABLE_CLOSESTHIT,
        0, 1, 0, p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11);
    if (p1) atomicAdd(params.hit_counts + ray % HIT_COUNTS, static_cast<Unsigned>(p1));
    if (p2) add_to_memory({p2, p3, {join(p4, p5), join(p6, p7), join(p8, p9), join(p10, p11)}});
}

static __forceinline__ __device__ Held get_held()
{
    return {
        optixGetPayload_2(),
        optixGetPayload_3(),
        {join(optixGetPayload_4(), optixGetPayload_5()), join(optixGetPayload_6(), optixGetPayload_7()),
         join(optixGetPayload_8(), optixGetPayload_9()), join(optixGetPayload_10(), optixGetPayload_11())}};
}

static __forceinline__ __device__ void set_held(const Held& held)
{
    optixSetPayload_2(held.rows);
    optixSetPayload_3(held.group);
    optixSetPayload_4(low_of(held.words[0]));
    optixSetPayload_5(high_of(held.words[0]));
    optixSetPayload_6(low_of(held.words[1]));
    optixSetPayload_7(high_of(held.words[1]));
    optixSetPayload_8(low_of(held.words[2]));
    optixSetPayload_9(high_of(held.words[2]));
    optixSetPayload_10(low_of(held.words[3]));
    optixSetPayload_11(high_of(held.words[3]));
}

// Add rows of one group to what the ray holds, whose group makes room first for another one; or, of
// a job with more totals than registers, to memory.
static __forceinline__ __device__ void add_rows(unsigned int group, unsigned int first, unsigned int last)
{
    Held held = get_held();
    const Unsigned place = place_of(group);
    if (params.in_registers) {
        if (held.rows && held.group != group) {
            add_to_memory(held);
            clear(held);
        }
        held.group = group;
        held.rows += last - first;
    } else {
        atomicAdd(params.rows + place, static_cast<Unsigned>(last - first));
    }
#pragma unroll 1
    for (int number = 0; number < params.total_count; ++number) {
        const Total& total = params.totals[number];
        const Word word = total_of(total, first, last);
        if (!params.in_registers) add(total.kind, total.words + place, word);
        // Registers have no index.
#pragma unroll
        for (int each = 0; each < MAX_IN_REGISTERS; ++each)
            if (each == number) held.words[each] = combine(total.kind, held.words[each], word);
    }
    if (params.in_registers) set_held(held);
}

static __forceinline__ __device__ unsigned int tuple_of(unsigned int row)
{
    switch (params.tuple_width) {
        case 1: return static_cast<const unsigned char*>(params.tuples)[row];
        case 2: return static_cast<const unsigned short*>(params.tuples)[row];
        default: return static_cast<const unsigned int*>(params.tuples)[row];
    }
}

extern "C" __global__ void __anyhit__bucket()
{
    const unsigned int bucket = optixGetPrimitiveIndex();
    optixSetPayload_1(optixGetPayload_1() + 1);
    bool counts = true;
    if (params.met) {
        const unsigned int bit = 1u << (bucket & 31);
        counts = !(atomicOr(params.met + (bucket >> 5), bit) & bit);
    }
    if (counts) {
        const Word cell_group = params.groups[optixGetPayload_0()];
        unsigned int first = params.firsts[bucket];
        const unsigned int last = params.firsts[bucket + 1];
        // Rows lie in the order of their tuples: one run after the other.
#pragma unroll 1
        while (first < last) {
            unsigned int end = last;
            Word part = 0;
            if (params.tuple_groups) {
                const unsigned int tuple = tuple_of(first);
                part = params.tuple_groups[tuple];
                end = first + 1;
                while (end < last && tuple_of(end) == tuple) ++end;
            }
            const Word group = cell_group + part;
            if (part >= 0 && !params.row_groups) add_rows(static_cast<unsigned int>(group), first, end);
            if (part >= 0 && params.row_groups)
                for (unsigned int row = first; row < end; ++row) params.row_groups[row] = group;
            first = end;
        }
    }
    optixIgnoreIntersection();
}

extern "C" __global__ void __miss__nothing()
{
}
