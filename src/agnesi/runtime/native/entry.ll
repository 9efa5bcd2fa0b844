; The entry of every compiled function: METH_FASTCALL | METH_KEYWORDS, driven by a table.
;
; The builtin's self object holds, 16 bytes in (ctypes' b_ptr), the address of a %Context.  All
; checks come first and leave nothing to undo; any mismatch, and any keyword, calls the slow path
; with the same arguments.  Object layouts used here are the same in CPython 3.11 to 3.14 and in NumPy 2:
;   object: refcount 0, type 8       float, scalars: value 16   tuple: items at its basic size
;   ndarray: data 16, nd 24, dims 32, descr 56, flags 64, mem_handler 88
;   descr: kind 24, byteorder 26, type_num 28, elsize 40
;   dict: size 16, tag 24                                    list: size 16, items 24

%Context = type {
  [8 x ptr],            ; 0  the run-time table that the body gets
  ptr,                  ; 1  body: i32 (ptr bufs, ptr rt)
  i64, ptr,             ; 2  arguments
  ptr,                  ; 4  words that must be as they were, %Checks
  i64, ptr,             ; 5  outputs
  i64, ptr,             ; 7  buffers, prefilled with states and constants
  i64,                  ; 9  buffer number of the first output
  i64,                  ; 10 bytes of scratch memory
  i64,                  ; 11 whether other threads may run meanwhile (the GIL is released)
  i64,                  ; 12 whether Python code may run meanwhile
  i64,                  ; 13 result: 0 None, 1 the one output, 2 a tuple
  ptr, i64,             ; 14 wrapper type (or null), offset of its array
  i64, ptr,             ; 16 fields that a wrapper argument must have
  i64,                  ; 18 how many fields a new wrapper gets (those of %Output)
  ptr, ptr,             ; 19 slow path, failure handler
  i64, ptr,             ; 21 pairs of buffers that must not overlap
  i64, ptr,             ; 23 sizes that arguments bring along, and the bounds of each
  ptr, i64,             ; 25 from sizes to scratch bytes and the outputs' sizes; how many of those
  ptr,                  ; 27 where scratch memory is kept between calls (null: in the pool)
  i64, ptr, i64,        ; 28 tensors that the body writes, offset of their counters of changes
  i64,                  ; 31 the number that they got last
  ptr,                  ; 32 what else must be as it was, a %Watched (or null)
  i64, ptr,             ; 33 locks of memory, %Use
  i64, ptr              ; 35 arguments that must not overlap states, %Apart
}
%Argument = type {i64, i64, i64, ptr, ptr, i64, i32} ; kind, type numbers, nd, dims, object, buffer, flags
%Word = type {ptr, i64}                           ; address, what must be there
%Part = type {ptr, i64, i64}                      ; the same, and the bits that count
%Four = type {ptr, [4 x i64]}                     ; the same of four words in a row
%Family = type {[4 x i64], i64, ptr}              ; the bits that count in such, and so many of them
%Alike = type {[4 x i64], [4 x i64], i64, ptr}    ; the bits that count, the words, and how many addresses hold them
%Memory = type {i64, ptr, i64, ptr, i64, ptr, i64, ptr} ; families, alike ones, groups of words, parts, each with their number
%Checks = type {%Memory, %Memory}                 ; the latter is where the former says
%Watched = type {%Checks, i64, ptr, i64, ptr}     ; checks, dicts, lists
%Entries = type {ptr, i64, i64, i64, ptr}         ; dict, its tag (-1: none), size (-1: any), entries
%Entry = type {ptr, ptr}                          ; key, value (null: there is none)
%Items = type {ptr, i64, ptr}                     ; list, its items
%Field = type {i64, ptr}                          ; offset, object
%Written = type {ptr, i64}                        ; tensor, or null for that of the argument here
; descr, nd, dims, bytes, %Field of its wrapper (null: none), first of its sizes, bytes from which the memory is the pool's
%Output = type {ptr, i64, ptr, i64, ptr, i64, i64}
%Pair = type {i64, i64, i64, i64}                 ; a buffer and its bytes, twice
%Apart = type {i64, i64, i64, ptr}                ; an argument's buffer and bytes, and other memory in order: how many, %Span
%Span = type {i64, i64}                           ; where memory begins and ends
; Where sizes are run-time values, the last entries of the table of buffers hold them (-1: not seen
; yet), an expected size of -1-k-65536*t stands for t + 1 times size k, the least one for any, bytes of -1-i in a pair for
; those of argument i, and outputs have the sizes that the function at 25 writes.

; Filled when the module is loaded; see `_api` in support.py for the order.
;
; References: what %Context, %Argument, %Word and the like point to is borrowed from the tuple `keep`
; of the self object, which the caller of the builtin holds; %args are borrowed from the caller;
; %held is borrowed from the arguments until `hold`; each of %made is owned until `result` or
; `release`.  Functions of Python and NumPy return borrowed references or take some over (`steals`)
; where a comment says so; every other object that they return is owned.
@api = global [38 x ptr] zeroinitializer, align 64

define internal ptr @api_get(i64 %i) nounwind alwaysinline {
  %at = getelementptr ptr, ptr @api, i64 %i
  %f = load ptr, ptr %at
  ret ptr %f
}

define internal ptr @field(ptr %object, i64 %offset) nounwind alwaysinline {
  %at = getelementptr i8, ptr %object, i64 %offset
  %value = load ptr, ptr %at
  ret ptr %value
}

@refused = global i64 0                       ; bytes that could not be had last
@no_memory_text = private constant [114 x i8] c"no memory is left for a large result, and no other call is running that would free some (see agnesi.limit_memory)\00"

; Memory of the pool; where there is none now, but other calls run that will give some back, it waits
; for them, without the GIL.  Null, with an error set, where waiting does not help.
define internal ptr @patient_alloc(i64 %size) nounwind {
entry:
  %first = call ptr @pool_alloc(i64 %size)
  %short = icmp eq ptr %first, null
  br i1 %short, label %queue, label %done
queue:
  %q = atomicrmw add ptr @pool_waiters, i64 1 seq_cst
  br label %try
try:
  %turn = load atomic i32, ptr @pool_turn seq_cst, align 4
  %busy = load atomic i64, ptr @pool_busy seq_cst, align 8
  %found = call ptr @pool_alloc(i64 %size)
  %none = icmp eq ptr %found, null
  br i1 %none, label %full, label %leave
full:
  %hopeless = icmp eq i64 %busy, 0
  br i1 %hopeless, label %fail, label %rest
rest:
  %save = call ptr @api_get(i64 18)
  %state = call ptr %save()
  call void @wait(ptr @pool_turn, i32 %turn, i32 -1)
  %restore = call ptr @api_get(i64 19)
  call void %restore(ptr %state)
  br label %try
fail:
  store i64 %size, ptr @refused
  %type = call ptr @api_get(i64 9)
  %set = call ptr @api_get(i64 4)
  call void %set(ptr %type, ptr @no_memory_text)
  br label %leave
leave:
  %l = atomicrmw sub ptr @pool_waiters, i64 1 seq_cst
  br label %done
done:
  %memory = phi ptr [%first, %entry], [%found, %leave]
  ret ptr %memory
}

; A new array: small ones as NumPy makes them, those of at least %pooled bytes in a block of the pool,
; which the array gives back through the memory handler that it carries.
define internal ptr @new_array(ptr %descr, i32 %nd, ptr %dims, i64 %bytes, i64 %pooled) nounwind alwaysinline {
entry:
  %type = call ptr @api_get(i64 2)
  %make = call ptr @api_get(i64 3)
  %large = icmp uge i64 %bytes, %pooled
  br i1 %large, label %pool, label %plain
plain:
  call void @incref(ptr %descr)
  ; steals %descr, also where it fails
  %small = call ptr %make(ptr %type, ptr %descr, i32 %nd, ptr %dims, ptr null, ptr null, i32 0, ptr null)
  ret ptr %small
pool:
  %data = call ptr @patient_alloc(i64 %bytes)
  %none = icmp eq ptr %data, null
  br i1 %none, label %memory, label %wrap
memory:
  ret ptr null
wrap:
  call void @incref(ptr %descr)
  ; steals %descr, also where it fails, but not %data
  %array = call ptr %make(ptr %type, ptr %descr, i32 %nd, ptr %dims, ptr null, ptr %data, i32 1281, ptr null)
  %bad = icmp eq ptr %array, null
  br i1 %bad, label %undo, label %own
undo:
  call void @pool_free(ptr %data)
  ret ptr null
own:
  %handler = call ptr @api_get(i64 5)
  call void @incref(ptr %handler)
  %handler.at = getelementptr i8, ptr %array, i64 88 ; null so far: the array owned no memory
  store ptr %handler, ptr %handler.at         ; the array's reference from here on
  %flags.at = getelementptr i8, ptr %array, i64 64
  %flags = load i32, ptr %flags.at
  %owned = or i32 %flags, 4
  store i32 %owned, ptr %flags.at
  ret ptr %array
}

; The ndarray inside an argument: itself, or what a wrapper in the right state holds; or null.
; Borrowed from the argument.
define internal ptr @array_of(ptr %context, ptr %object) nounwind alwaysinline {
entry:
  %ndarray = call ptr @api_get(i64 2)
  %type.at = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %type.at
  %plain = icmp eq ptr %type, %ndarray
  br i1 %plain, label %self, label %other
self:
  ret ptr %object
other:
  %wrapper.at = getelementptr %Context, ptr %context, i64 0, i32 14
  %wrapper = load ptr, ptr %wrapper.at
  %exact = icmp eq ptr %type, %wrapper
  br i1 %exact, label %held, label %inherit
inherit:
  %unused = icmp eq ptr %wrapper, null
  br i1 %unused, label %no, label %ask
ask:
  %subtype = call ptr @api_get(i64 6)
  %answer = call i32 %subtype(ptr %type, ptr %wrapper)
  %stranger = icmp eq i32 %answer, 0
  br i1 %stranger, label %no, label %held
held:
  %count.at = getelementptr %Context, ptr %context, i64 0, i32 16
  %count = load i64, ptr %count.at
  %fields.at = getelementptr %Context, ptr %context, i64 0, i32 17
  %fields = load ptr, ptr %fields.at
  br label %test
test:
  %i = phi i64 [0, %held], [%i1, %right]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %inside
look:
  %offset.at = getelementptr %Field, ptr %fields, i64 %i, i32 0
  %offset = load i64, ptr %offset.at
  %wanted.at = getelementptr %Field, ptr %fields, i64 %i, i32 1
  %wanted = load ptr, ptr %wanted.at
  %have = call ptr @field(ptr %object, i64 %offset)
  %equal = icmp eq ptr %have, %wanted
  br i1 %equal, label %right, label %no
right:
  %i1 = add i64 %i, 1
  br label %test
inside:
  %slot.at = getelementptr %Context, ptr %context, i64 0, i32 15
  %slot = load i64, ptr %slot.at
  %array = call ptr @field(ptr %object, i64 %slot)
  %empty = icmp eq ptr %array, null
  br i1 %empty, label %no, label %kind
kind:
  %inner.at = getelementptr i8, ptr %array, i64 8
  %inner = load ptr, ptr %inner.at
  %good = icmp eq ptr %inner, %ndarray
  br i1 %good, label %yes, label %no
yes:
  ret ptr %array
no:
  ret ptr null
}

; Where the run-time sizes of a call are.
define internal ptr @sizes_of(ptr %context, ptr %bufs) nounwind alwaysinline {
  %nbufs.at = getelementptr %Context, ptr %context, i64 0, i32 7
  %nbufs = load i64, ptr %nbufs.at
  %count.at = getelementptr %Context, ptr %context, i64 0, i32 23
  %count = load i64, ptr %count.at
  %first = sub i64 %nbufs, %count
  %sizes = getelementptr ptr, ptr %bufs, i64 %first
  ret ptr %sizes
}

; The product of some sizes and %each.
define internal i64 @bytes_of(ptr %dims, i64 %nd, i64 %each) nounwind alwaysinline {
entry:
  br label %test
test:
  %i = phi i64 [0, %entry], [%i1, %multiply]
  %bytes = phi i64 [%each, %entry], [%product, %multiply]
  %more = icmp ult i64 %i, %nd
  br i1 %more, label %multiply, label %done
multiply:
  %dim.at = getelementptr i64, ptr %dims, i64 %i
  %dim = load i64, ptr %dim.at
  %product = mul i64 %bytes, %dim
  %i1 = add i64 %i, 1
  br label %test
done:
  ret i64 %bytes
}

; Whether an ndarray has the dtype, shape and flags of %argument: contiguous, aligned, perhaps writeable.
define internal i1 @fits(ptr %context, ptr %argument, ptr %array, ptr %bufs) nounwind alwaysinline {
entry:
  %descr = call ptr @field(ptr %array, i64 56)
  %num.at = getelementptr i8, ptr %descr, i64 28
  %num = load i32, ptr %num.at
  %wide = zext i32 %num to i64
  %mask.at = getelementptr %Argument, ptr %argument, i64 0, i32 1
  %mask = load i64, ptr %mask.at
  %known = icmp ult i64 %wide, 32
  br i1 %known, label %type, label %foreign
foreign:
  %number = lshr i64 %mask, 32
  %own = icmp eq i64 %number, %wide
  br i1 %own, label %order, label %no
type:
  %bits = lshr i64 %mask, %wide
  %bit = trunc i64 %bits to i1
  br i1 %bit, label %order, label %no
order:
  %order.at = getelementptr i8, ptr %descr, i64 26
  %order.is = load i8, ptr %order.at
  %swapped = icmp eq i8 %order.is, {swapped}
  br i1 %swapped, label %no, label %flags
flags:
  %flags.at = getelementptr i8, ptr %array, i64 64
  %flags.are = load i32, ptr %flags.at
  %flags.wanted.at = getelementptr %Argument, ptr %argument, i64 0, i32 6
  %flags.wanted = load i32, ptr %flags.wanted.at
  %needed = and i32 %flags.are, %flags.wanted
  %laid = icmp eq i32 %needed, %flags.wanted
  br i1 %laid, label %rank, label %no
rank:
  %nd.at = getelementptr i8, ptr %array, i64 24
  %nd32 = load i32, ptr %nd.at
  %nd = zext i32 %nd32 to i64
  %wanted.at = getelementptr %Argument, ptr %argument, i64 0, i32 2
  %wanted = load i64, ptr %wanted.at
  %same = icmp eq i64 %nd, %wanted
  br i1 %same, label %shape, label %no
shape:
  %dims = call ptr @field(ptr %array, i64 32)
  %expect.at = getelementptr %Argument, ptr %argument, i64 0, i32 3
  %expect = load ptr, ptr %expect.at
  br label %dim
dim:
  %i = phi i64 [0, %shape], [%i1, %next]
  %more = icmp ult i64 %i, %nd
  br i1 %more, label %compare, label %yes
compare:
  %a.at = getelementptr i64, ptr %dims, i64 %i
  %a = load i64, ptr %a.at
  %b.at = getelementptr i64, ptr %expect, i64 %i
  %b = load i64, ptr %b.at
  %match = icmp eq i64 %a, %b
  br i1 %match, label %next, label %differs
differs:
  %any = icmp eq i64 %b, -9223372036854775808
  br i1 %any, label %next, label %bound
bound:
  %fixed = icmp sge i64 %b, 0
  br i1 %fixed, label %no, label %size
size:
  %told = xor i64 %b, -1
  %k = and i64 %told, 65535
  %more.times = lshr i64 %told, 16
  %once = icmp eq i64 %more.times, 0
  br i1 %once, label %look, label %several
several:
  %times = add i64 %more.times, 1
  %part = udiv i64 %a, %times
  %rest = urem i64 %a, %times
  %whole = icmp eq i64 %rest, 0
  br i1 %whole, label %look, label %no
look:
  %n = phi i64 [%a, %size], [%part, %several]
  %sizes = call ptr @sizes_of(ptr %context, ptr %bufs)
  %size.at = getelementptr i64, ptr %sizes, i64 %k
  %seen = load i64, ptr %size.at
  %fresh = icmp eq i64 %seen, -1
  br i1 %fresh, label %first, label %again
first:
  %bounds.at = getelementptr %Context, ptr %context, i64 0, i32 24
  %bounds = load ptr, ptr %bounds.at
  %low.at = getelementptr [2 x i64], ptr %bounds, i64 %k, i64 0
  %low = load i64, ptr %low.at
  %high.at = getelementptr [2 x i64], ptr %bounds, i64 %k, i64 1
  %high = load i64, ptr %high.at
  store i64 %n, ptr %size.at
  %enough = icmp sge i64 %n, %low
  %few = icmp sle i64 %n, %high
  %within = and i1 %enough, %few
  br i1 %within, label %next, label %no
again:
  %equal = icmp eq i64 %n, %seen
  br i1 %equal, label %next, label %no
next:
  %i1 = add i64 %i, 1
  br label %dim
yes:
  ret i1 true
no:
  ret i1 false
}

; Convert a Python number to 8 bytes at %target; false if the object is not of the kind.
define internal i1 @number(i64 %kind, ptr %object, ptr %target) nounwind alwaysinline {
entry:
  %type.at = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %type.at
  %int = call ptr @api_get(i64 8)
  %whole = icmp eq ptr %type, %int
  switch i64 %kind, label %truth [ i64 1, label %real
                                   i64 2, label %integer ]
real:
  %float = call ptr @api_get(i64 7)
  %exact = icmp eq ptr %type, %float
  br i1 %exact, label %copy, label %no
copy:
  %value.at = getelementptr i8, ptr %object, i64 16
  %value = load double, ptr %value.at
  store double %value, ptr %target
  ret i1 true
integer:
  br i1 %whole, label %narrow, label %no
narrow:
  %as.long = call ptr @api_get(i64 10)
  %narrowed = call i64 %as.long(ptr %object)
  store i64 %narrowed, ptr %target
  %odd2 = icmp eq i64 %narrowed, -1
  br i1 %odd2, label %error, label %yes
error:
  %occurred = call ptr @api_get(i64 11)
  %pending = call ptr %occurred()
  %fine = icmp eq ptr %pending, null
  br i1 %fine, label %yes, label %forget
forget:
  %clear = call ptr @api_get(i64 12)
  call void %clear()
  br label %no
truth:
  %true = call ptr @api_get(i64 13)
  %false = call ptr @api_get(i64 14)
  %is.true = icmp eq ptr %object, %true
  %is.false = icmp eq ptr %object, %false
  %bit = zext i1 %is.true to i64
  store i64 %bit, ptr %target
  %boolean = or i1 %is.true, %is.false
  ret i1 %boolean
yes:
  ret i1 true
no:
  ret i1 false
}

; Check one argument; put its data address (or its value's) into %bufs, the ndarray into %held.
define internal i1 @take(ptr %context, ptr %argument, ptr %object, ptr %bufs, ptr %scalar, ptr %held) nounwind alwaysinline {
entry:
  %kind = load i64, ptr %argument
  %number.at = getelementptr %Argument, ptr %argument, i64 0, i32 5
  %number = load i64, ptr %number.at
  %buf = getelementptr ptr, ptr %bufs, i64 %number
  store ptr null, ptr %held
  switch i64 %kind, label %scalar.kind [ i64 0, label %array.kind
                                         i64 4, label %identity
                                         i64 5, label %yes
                                         i64 6, label %array.kind
                                         i64 7, label %array.kind
                                         i64 8, label %array.kind
                                         i64 9, label %typed ]
array.kind:
  %array = call ptr @array_of(ptr %context, ptr %object)
  %none = icmp eq ptr %array, null
  br i1 %none, label %other, label %check
check:
  %good = call i1 @fits(ptr %context, ptr %argument, ptr %array, ptr %bufs)
  %data = call ptr @field(ptr %array, i64 16)
  store ptr %data, ptr %buf
  store ptr %array, ptr %held
  ret i1 %good
other:                                        ; a scalar of NumPy's or Python's where those are taken
  %only.arrays = icmp eq i64 %kind, 0
  br i1 %only.arrays, label %no, label %typed
typed:
  %scalar.at = getelementptr %Argument, ptr %argument, i64 0, i32 4
  %scalar.type = load ptr, ptr %scalar.at
  %type = call ptr @field(ptr %object, i64 8)
  %numpy = icmp eq ptr %type, %scalar.type
  br i1 %numpy, label %inside, label %python
inside:
  %inside.at = getelementptr i8, ptr %object, i64 16
  store ptr %inside.at, ptr %buf
  ret i1 true
python:
  %number.kind = sub i64 %kind, 6
  %any.number = icmp ult i64 %number.kind, 3
  %some = icmp ne i64 %number.kind, 0
  %convertible = and i1 %some, %any.number
  br i1 %convertible, label %convert, label %no
convert:
  store ptr %scalar, ptr %buf
  %converted = call i1 @number(i64 %number.kind, ptr %object, ptr %scalar)
  ret i1 %converted
identity:
  %wanted.at = getelementptr %Argument, ptr %argument, i64 0, i32 4
  %wanted = load ptr, ptr %wanted.at
  %same = icmp eq ptr %object, %wanted
  ret i1 %same
scalar.kind:
  store ptr %scalar, ptr %buf
  %numeric = call i1 @number(i64 %kind, ptr %object, ptr %scalar)
  ret i1 %numeric
yes:
  ret i1 true
no:
  ret i1 false
}

; Which bits of words differ from what they were; 0 for none.  There are four in each group.
define internal i64 @changed_words(i64 %groups, ptr %words) nounwind alwaysinline {
entry:
  %count = shl i64 %groups, 2
  br label %test
test:
  %i = phi i64 [0, %entry], [%i1, %look]
  %found = phi i64 [0, %entry], [%found1, %look]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %done
look:
  %word = getelementptr %Word, ptr %words, i64 %i
  %address0.at = getelementptr %Word, ptr %word, i64 0
  %address0 = load ptr, ptr %address0.at
  %wanted0.at = getelementptr %Word, ptr %address0.at, i64 0, i32 1
  %wanted0 = load i64, ptr %wanted0.at
  %there0 = load i64, ptr %address0
  %odd0 = xor i64 %there0, %wanted0
  %address1.at = getelementptr %Word, ptr %word, i64 1
  %address1 = load ptr, ptr %address1.at
  %wanted1.at = getelementptr %Word, ptr %address1.at, i64 0, i32 1
  %wanted1 = load i64, ptr %wanted1.at
  %there1 = load i64, ptr %address1
  %odd1 = xor i64 %there1, %wanted1
  %address2.at = getelementptr %Word, ptr %word, i64 2
  %address2 = load ptr, ptr %address2.at
  %wanted2.at = getelementptr %Word, ptr %address2.at, i64 0, i32 1
  %wanted2 = load i64, ptr %wanted2.at
  %there2 = load i64, ptr %address2
  %odd2 = xor i64 %there2, %wanted2
  %address3.at = getelementptr %Word, ptr %word, i64 3
  %address3 = load ptr, ptr %address3.at
  %wanted3.at = getelementptr %Word, ptr %address3.at, i64 0, i32 1
  %wanted3 = load i64, ptr %wanted3.at
  %there3 = load i64, ptr %address3
  %odd3 = xor i64 %there3, %wanted3
  %both = or i64 %odd0, %odd1
  %others = or i64 %odd2, %odd3
  %all = or i64 %both, %others
  %found1 = or i64 %found, %all
  %i1 = add i64 %i, 4
  br label %test
done:
  ret i64 %found
}

; The same of words of which not all bits count.
define internal i64 @changed_parts(i64 %count, ptr %parts) nounwind alwaysinline {
entry:
  br label %test
test:
  %i = phi i64 [0, %entry], [%i1, %look]
  %found = phi i64 [0, %entry], [%found1, %look]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %done
look:
  %part = getelementptr %Part, ptr %parts, i64 %i
  %address = load ptr, ptr %part
  %wanted.at = getelementptr %Part, ptr %part, i64 0, i32 1
  %wanted = load i64, ptr %wanted.at
  %mask.at = getelementptr %Part, ptr %part, i64 0, i32 2
  %mask = load i64, ptr %mask.at
  %there = load i64, ptr %address
  %odd = xor i64 %there, %wanted
  %counts = and i64 %odd, %mask
  %found1 = or i64 %found, %counts
  %i1 = add i64 %i, 1
  br label %test
done:
  ret i64 %found
}

; The same of four words in a row each; of those of a family the same bits count.
define internal i64 @changed_blocks(i64 %families, ptr %list) nounwind alwaysinline {
entry:
  br label %family.test
family.test:
  %n = phi i64 [0, %entry], [%n1, %mask]
  %sum = phi <4 x i64> [zeroinitializer, %entry], [%counts, %mask]
  %families.left = icmp ult i64 %n, %families
  br i1 %families.left, label %family, label %done
family:
  %family.at = getelementptr %Family, ptr %list, i64 %n
  %count.at = getelementptr %Family, ptr %family.at, i64 0, i32 1
  %count = load i64, ptr %count.at
  %blocks.at = getelementptr %Family, ptr %family.at, i64 0, i32 2
  %blocks = load ptr, ptr %blocks.at
  br label %test
test:
  %i = phi i64 [0, %family], [%i1, %look]
  %found = phi <4 x i64> [zeroinitializer, %family], [%found1, %look]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %mask
look:
  %block = getelementptr %Four, ptr %blocks, i64 %i
  %address = load ptr, ptr %block
  %wanted.at = getelementptr %Four, ptr %block, i64 0, i32 1
  %wanted = load <4 x i64>, ptr %wanted.at, align 8
  %there = load <4 x i64>, ptr %address, align 8
  %odd = xor <4 x i64> %there, %wanted
  %found1 = or <4 x i64> %found, %odd
  %i1 = add i64 %i, 1
  br label %test
mask:
  %bits = load <4 x i64>, ptr %family.at, align 8
  %some = and <4 x i64> %found, %bits
  %counts = or <4 x i64> %sum, %some
  %n1 = add i64 %n, 1
  br label %family.test
done:
  %all = call i64 @llvm.vector.reduce.or.v4i64(<4 x i64> %sum)
  ret i64 %all
}

; The same of four words in a row that hold the same at several addresses.
define internal i64 @changed_alike(i64 %kinds, ptr %list) nounwind alwaysinline {
entry:
  br label %kind.test
kind.test:
  %n = phi i64 [0, %entry], [%n1, %mask]
  %sum = phi <4 x i64> [zeroinitializer, %entry], [%counts, %mask]
  %kinds.left = icmp ult i64 %n, %kinds
  br i1 %kinds.left, label %kind, label %done
kind:
  %kind.at = getelementptr %Alike, ptr %list, i64 %n
  %wanted.at = getelementptr %Alike, ptr %kind.at, i64 0, i32 1
  %wanted = load <4 x i64>, ptr %wanted.at, align 8
  %count.at = getelementptr %Alike, ptr %kind.at, i64 0, i32 2
  %count = load i64, ptr %count.at
  %addresses.at = getelementptr %Alike, ptr %kind.at, i64 0, i32 3
  %addresses = load ptr, ptr %addresses.at
  br label %test
test:
  %i = phi i64 [0, %kind], [%i1, %look]
  %found = phi <4 x i64> [zeroinitializer, %kind], [%found1, %look]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %mask
look:
  %address.at = getelementptr ptr, ptr %addresses, i64 %i
  %address = load ptr, ptr %address.at
  %there = load <4 x i64>, ptr %address, align 8
  %odd = xor <4 x i64> %there, %wanted
  %found1 = or <4 x i64> %found, %odd
  %i1 = add i64 %i, 1
  br label %test
mask:
  %bits = load <4 x i64>, ptr %kind.at, align 8
  %some = and <4 x i64> %found, %bits
  %counts = or <4 x i64> %sum, %some
  %n1 = add i64 %n, 1
  br label %kind.test
done:
  %all = call i64 @llvm.vector.reduce.or.v4i64(<4 x i64> %sum)
  ret i64 %all
}

; Which bits of all of these differ.
define internal i64 @changed_memory(ptr %memory) nounwind {
  %families.at = getelementptr %Memory, ptr %memory, i64 0, i32 0
  %families = load i64, ptr %families.at
  %family.at = getelementptr %Memory, ptr %memory, i64 0, i32 1
  %family = load ptr, ptr %family.at
  %alikes.at = getelementptr %Memory, ptr %memory, i64 0, i32 2
  %alikes = load i64, ptr %alikes.at
  %alike.at = getelementptr %Memory, ptr %memory, i64 0, i32 3
  %alike = load ptr, ptr %alike.at
  %words.at = getelementptr %Memory, ptr %memory, i64 0, i32 4
  %words = load i64, ptr %words.at
  %word.at = getelementptr %Memory, ptr %memory, i64 0, i32 5
  %word = load ptr, ptr %word.at
  %parts.at = getelementptr %Memory, ptr %memory, i64 0, i32 6
  %parts = load i64, ptr %parts.at
  %part.at = getelementptr %Memory, ptr %memory, i64 0, i32 7
  %part = load ptr, ptr %part.at
  %a = call i64 @changed_blocks(i64 %families, ptr %family)
  %b = call i64 @changed_alike(i64 %alikes, ptr %alike)
  %c = call i64 @changed_words(i64 %words, ptr %word)
  %d = call i64 @changed_parts(i64 %parts, ptr %part)
  %blocks = or i64 %a, %b
  %rest = or i64 %c, %d
  %all = or i64 %blocks, %rest
  ret i64 %all
}

; Whether memory is as it was.
define internal i1 @unchanged(ptr %checks) nounwind {
entry:
  %early = call i64 @changed_memory(ptr %checks)
  %same = icmp eq i64 %early, 0
  br i1 %same, label %behind, label %no
behind:
  %late.at = getelementptr %Checks, ptr %checks, i64 0, i32 1
  %late = call i64 @changed_memory(ptr %late.at)
  %still = icmp eq i64 %late, 0
  ret i1 %still
no:
  ret i1 false
}

; Whether a dict has the values that it had: nothing was changed in it, or nothing that counts.
define internal i1 @same_entries(ptr %dict) nounwind {
entry:
  %object = load ptr, ptr %dict
  %tag.at = getelementptr %Entries, ptr %dict, i64 0, i32 1
  %tag = load i64, ptr %tag.at
  %now.at = getelementptr i8, ptr %object, i64 24
  %now = load i64, ptr %now.at
  %size.at = getelementptr %Entries, ptr %dict, i64 0, i32 2
  %size = load i64, ptr %size.at
  %partly = icmp slt i64 %size, 0
  %tagged = icmp ne i64 %tag, -1
  br i1 %tagged, label %compare, label %measure
compare:
  %untouched = icmp eq i64 %tag, %now
  br i1 %untouched, label %yes, label %whole
whole:
  br i1 %partly, label %search, label %no
measure:
  %used = call ptr @field(ptr %object, i64 16)
  %entries.now = ptrtoint ptr %used to i64
  %same.size = icmp eq i64 %entries.now, %size
  %fine = or i1 %same.size, %partly
  br i1 %fine, label %search, label %no
search:
  %count.at = getelementptr %Entries, ptr %dict, i64 0, i32 3
  %count = load i64, ptr %count.at
  %list.at = getelementptr %Entries, ptr %dict, i64 0, i32 4
  %list = load ptr, ptr %list.at
  br label %test
test:
  %i = phi i64 [0, %search], [%i1, %next]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %take
look:
  %key.at = getelementptr %Entry, ptr %list, i64 %i, i32 0
  %key = load ptr, ptr %key.at
  %value.at = getelementptr %Entry, ptr %list, i64 %i, i32 1
  %value = load ptr, ptr %value.at
  %get = call ptr @api_get(i64 27)
  %have = call ptr %get(ptr %object, ptr %key) ; borrowed, and only compared
  %equal = icmp eq ptr %have, %value
  %i1 = add i64 %i, 1
  br i1 %equal, label %next, label %differs
next:
  br label %test
differs:
  %clear = call ptr @api_get(i64 12)
  call void %clear()
  br label %no
take:
  br i1 %tagged, label %keep, label %yes
keep:
  store i64 %now, ptr %tag.at
  br label %yes
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether a list has the items that it had.
define internal i1 @same_items(ptr %list) nounwind alwaysinline {
entry:
  %object = load ptr, ptr %list
  %count.at = getelementptr %Items, ptr %list, i64 0, i32 1
  %count = load i64, ptr %count.at
  %size.now = call ptr @field(ptr %object, i64 16)
  %size = ptrtoint ptr %size.now to i64
  %as.long = icmp eq i64 %size, %count
  br i1 %as.long, label %begin, label %no
begin:
  %items.at = getelementptr %Items, ptr %list, i64 0, i32 2
  %items = load ptr, ptr %items.at
  %now = call ptr @field(ptr %object, i64 24)
  %whole = and i64 %count, -4
  br label %four.test
four.test:
  %f = phi i64 [0, %begin], [%f1, %four]
  %odd = phi <4 x i64> [zeroinitializer, %begin], [%odd1, %four]
  %fours = icmp ult i64 %f, %whole
  br i1 %fours, label %four, label %test
four:
  %four.at = getelementptr i64, ptr %items, i64 %f
  %four.wanted = load <4 x i64>, ptr %four.at, align 8
  %four.now = getelementptr i64, ptr %now, i64 %f
  %four.have = load <4 x i64>, ptr %four.now, align 8
  %four.odd = xor <4 x i64> %four.wanted, %four.have
  %odd1 = or <4 x i64> %odd, %four.odd
  %f1 = add i64 %f, 4
  br label %four.test
test:
  %i = phi i64 [%f, %four.test], [%i1, %look]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %done
look:
  %wanted.at = getelementptr ptr, ptr %items, i64 %i
  %wanted = load ptr, ptr %wanted.at
  %have.at = getelementptr ptr, ptr %now, i64 %i
  %have = load ptr, ptr %have.at
  %equal = icmp eq ptr %have, %wanted
  %i1 = add i64 %i, 1
  br i1 %equal, label %test, label %no
done:
  %all = call i64 @llvm.vector.reduce.or.v4i64(<4 x i64> %odd)
  %same = icmp eq i64 %all, 0
  ret i1 %same
no:
  ret i1 false
}

; Whether what Python would read is what it was when the function was traced.
define internal i1 @seen(ptr %watched) nounwind {
entry:
  %still = call i1 @unchanged(ptr %watched)
  br i1 %still, label %dicts, label %no
dicts:
  %dicts.at = getelementptr %Watched, ptr %watched, i64 0, i32 1
  %dict.count = load i64, ptr %dicts.at
  %dict.at = getelementptr %Watched, ptr %watched, i64 0, i32 2
  %dict.first = load ptr, ptr %dict.at
  br label %tag.test
tag.test:
  %t = phi i64 [0, %dicts], [%t1, %tag.look]
  %odd = phi i64 [0, %dicts], [%odd1, %tag.look]
  %tag.more = icmp ult i64 %t, %dict.count
  br i1 %tag.more, label %tag.look, label %tag.done
tag.look:
  %tagged = getelementptr %Entries, ptr %dict.first, i64 %t
  %object = load ptr, ptr %tagged
  %tag.at = getelementptr %Entries, ptr %tagged, i64 0, i32 1
  %tag = load i64, ptr %tag.at
  %now.at = getelementptr i8, ptr %object, i64 24
  %now = load i64, ptr %now.at
  %differs = xor i64 %tag, %now
  %odd1 = or i64 %odd, %differs
  %t1 = add i64 %t, 1
  br label %tag.test
tag.done:
  %untouched = icmp eq i64 %odd, 0
  br i1 %untouched, label %lists, label %dict.test
dict.test:
  %d = phi i64 [0, %tag.done], [%d1, %dict.look]
  %dict.more = icmp ult i64 %d, %dict.count
  br i1 %dict.more, label %dict.look, label %lists
dict.look:
  %dict = getelementptr %Entries, ptr %dict.first, i64 %d
  %dict.same = call i1 @same_entries(ptr %dict)
  %d1 = add i64 %d, 1
  br i1 %dict.same, label %dict.test, label %no
lists:
  %lists.at = getelementptr %Watched, ptr %watched, i64 0, i32 3
  %list.count = load i64, ptr %lists.at
  %list.at = getelementptr %Watched, ptr %watched, i64 0, i32 4
  %list.first = load ptr, ptr %list.at
  br label %list.test
list.test:
  %l = phi i64 [0, %lists], [%l1, %list.look]
  %list.more = icmp ult i64 %l, %list.count
  br i1 %list.more, label %list.look, label %yes
list.look:
  %list = getelementptr %Items, ptr %list.first, i64 %l
  %list.same = call i1 @same_items(ptr %list)
  %l1 = add i64 %l, 1
  br i1 %list.same, label %list.test, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; The same for Python, which holds the interpreter's lock.
define i32 @still_seen(ptr %watched) nounwind {
  %seen = call i1 @seen(ptr %watched)
  %result = zext i1 %seen to i32
  ret i32 %result
}

; Whether everything that the code was specialised on is as it was.
define internal i1 @guarded(ptr %context) nounwind alwaysinline {
entry:
  %checks.at = getelementptr %Context, ptr %context, i64 0, i32 4
  %checks = load ptr, ptr %checks.at
  %still = call i1 @unchanged(ptr %checks)
  br i1 %still, label %more, label %no
more:
  %watched.at = getelementptr %Context, ptr %context, i64 0, i32 32
  %watched = load ptr, ptr %watched.at
  %none = icmp eq ptr %watched, null
  br i1 %none, label %yes, label %ask
ask:
  %seen = call i1 @seen(ptr %watched)
  ret i1 %seen
yes:
  ret i1 true
no:
  ret i1 false
}

; Drop the references in %list, skipping nulls.
define internal void @release(ptr %list, i64 %count) nounwind {
entry:
  br label %test
test:
  %i = phi i64 [0, %entry], [%i1, %next]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %done
look:
  %at = getelementptr ptr, ptr %list, i64 %i
  %object = load ptr, ptr %at
  %none = icmp eq ptr %object, null
  br i1 %none, label %next, label %drop
drop:
  call void @decref(ptr %object)
  br label %next
next:
  %i1 = add i64 %i, 1
  br label %test
done:
  ret void
}

define internal void @hold(ptr %list, i64 %count) nounwind alwaysinline {
entry:
  br label %test
test:
  %i = phi i64 [0, %entry], [%i1, %next]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %done
look:
  %at = getelementptr ptr, ptr %list, i64 %i
  %object = load ptr, ptr %at
  %none = icmp eq ptr %object, null
  br i1 %none, label %next, label %keep
keep:
  call void @incref(ptr %object)
  br label %next
next:
  %i1 = add i64 %i, 1
  br label %test
done:
  ret void
}

; Make the output arrays; returns how many were made (fewer than requested: an error is set).
; Their sizes are in %area, or else fixed.
define internal i64 @make_outputs(ptr %context, ptr %made, ptr %bufs, ptr %area) nounwind alwaysinline {
entry:
  %count.at = getelementptr %Context, ptr %context, i64 0, i32 5
  %count = load i64, ptr %count.at
  %list.at = getelementptr %Context, ptr %context, i64 0, i32 6
  %list = load ptr, ptr %list.at
  br label %test
test:
  %i = phi i64 [0, %entry], [%i1, %good]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %make, label %done
make:
  %output = getelementptr %Output, ptr %list, i64 %i
  %descr = load ptr, ptr %output
  %nd.at = getelementptr %Output, ptr %output, i64 0, i32 1
  %nd = load i64, ptr %nd.at
  %nd32 = trunc i64 %nd to i32
  %dims.at = getelementptr %Output, ptr %output, i64 0, i32 2
  %dims.fixed = load ptr, ptr %dims.at
  %bytes.at = getelementptr %Output, ptr %output, i64 0, i32 3
  %bytes.fixed = load i64, ptr %bytes.at
  %fixed = icmp eq ptr %area, null
  br i1 %fixed, label %new, label %measured
measured:
  %start.at = getelementptr %Output, ptr %output, i64 0, i32 5
  %start = load i64, ptr %start.at
  %dims.now = getelementptr i64, ptr %area, i64 %start
  %bytes.now = call i64 @bytes_of(ptr %dims.now, i64 %nd, i64 %bytes.fixed)
  br label %new
new:
  %dims = phi ptr [%dims.fixed, %make], [%dims.now, %measured]
  %bytes = phi i64 [%bytes.fixed, %make], [%bytes.now, %measured]
  %pooled.at = getelementptr %Output, ptr %output, i64 0, i32 6
  %pooled = load i64, ptr %pooled.at
  %array = call ptr @new_array(ptr %descr, i32 %nd32, ptr %dims, i64 %bytes, i64 %pooled)
  %bad = icmp eq ptr %array, null
  br i1 %bad, label %done, label %good
good:
  %made.at = getelementptr ptr, ptr %made, i64 %i
  store ptr %array, ptr %made.at
  %data = call ptr @field(ptr %array, i64 16)
  %buf = getelementptr ptr, ptr %bufs, i64 %i
  store ptr %data, ptr %buf
  %i1 = add i64 %i, 1
  br label %test
done:
  ret i64 %i
}

; Put an array into a new wrapper with these fields, which takes over the reference; null if that fails.
define internal ptr @wrap(ptr %context, ptr %array, ptr %fields) nounwind {
entry:
  %type.at = getelementptr %Context, ptr %context, i64 0, i32 14
  %type = load ptr, ptr %type.at
  %make = call ptr @api_get(i64 15)
  %object = call ptr %make(ptr %type, i64 0)  ; all of its slots are null
  %bad = icmp eq ptr %object, null
  br i1 %bad, label %no, label %fill
fill:
  %slot.at = getelementptr %Context, ptr %context, i64 0, i32 15
  %slot = load i64, ptr %slot.at
  %target = getelementptr i8, ptr %object, i64 %slot
  store ptr %array, ptr %target              ; the slot's reference from here on
  %count.at = getelementptr %Context, ptr %context, i64 0, i32 18
  %count = load i64, ptr %count.at
  br label %test
test:
  %i = phi i64 [0, %fill], [%i1, %set]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %set, label %yes
set:
  %offset.at = getelementptr %Field, ptr %fields, i64 %i, i32 0
  %offset = load i64, ptr %offset.at
  %value.at = getelementptr %Field, ptr %fields, i64 %i, i32 1
  %value = load ptr, ptr %value.at
  call void @incref(ptr %value)
  %at = getelementptr i8, ptr %object, i64 %offset
  store ptr %value, ptr %at
  %i1 = add i64 %i, 1
  br label %test
yes:
  ret ptr %object
no:
  ret ptr null
}

; The result object, which takes over the references in %made; null if that fails.
define internal ptr @result(ptr %context, ptr %made, i64 %count) nounwind alwaysinline {
entry:
  %list.at = getelementptr %Context, ptr %context, i64 0, i32 6
  %list = load ptr, ptr %list.at
  br label %test
test:
  %i = phi i64 [0, %entry], [%i1, %next]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %shape
look:
  %fields.at = getelementptr %Output, ptr %list, i64 %i, i32 4
  %fields = load ptr, ptr %fields.at
  %plain = icmp eq ptr %fields, null
  br i1 %plain, label %next, label %dress
dress:
  %made.at = getelementptr ptr, ptr %made, i64 %i
  %array = load ptr, ptr %made.at
  %object = call ptr @wrap(ptr %context, ptr %array, ptr %fields)
  %bad = icmp eq ptr %object, null
  br i1 %bad, label %fail, label %put
put:
  store ptr %object, ptr %made.at
  br label %next
next:
  %i1 = add i64 %i, 1
  br label %test
shape:
  %kind.at = getelementptr %Context, ptr %context, i64 0, i32 13
  %kind = load i64, ptr %kind.at
  switch i64 %kind, label %tuple [ i64 0, label %nothing
                                   i64 1, label %single ]
nothing:
  %none = call ptr @api_get(i64 16)
  call void @incref(ptr %none)
  call void @release(ptr %made, i64 %count)
  ret ptr %none
single:
  %one = load ptr, ptr %made                  ; the caller's from here on
  ret ptr %one
tuple:
  %make = call ptr @api_get(i64 17)
  %all = call ptr %make(i64 %count)
  %short = icmp eq ptr %all, null
  br i1 %short, label %fail, label %fill
fill:
  %items = getelementptr i8, ptr %all, i64 {items}
  %bytes = shl i64 %count, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %items, ptr %made, i64 %bytes, i1 false) ; the tuple's from here on
  ret ptr %all
fail:
  call void @release(ptr %made, i64 %count)
  ret ptr null
}

; Call the body, without the GIL if the context says so.
define internal i32 @run_body(ptr %context, ptr %bufs) nounwind alwaysinline {
entry:
  %body.at = getelementptr %Context, ptr %context, i64 0, i32 1
  %body = load ptr, ptr %body.at
  %free.at = getelementptr %Context, ptr %context, i64 0, i32 11
  %free = load i64, ptr %free.at
  %locked = icmp eq i64 %free, 0
  br i1 %locked, label %direct, label %freely
direct:
  %code = call i32 %body(ptr %bufs, ptr %context)
  ret i32 %code
freely:
  %ident = call ptr @api_get(i64 28)
  %me = call i64 %ident()
  %first = load i64, ptr @main_thread
  %main = icmp eq i64 %me, %first
  %save = call ptr @api_get(i64 18)
  %state = call ptr %save()
  br i1 %main, label %polled, label %other
polled:                                       ; handlers of signals may call compiled code, too
  %outer = load ptr, ptr @main_state
  %outer.writing = load i64, ptr @writing_since
  store ptr %state, ptr @main_state
  store i64 0, ptr @writing_since
  %now = call i64 @ticks()
  %ticks = load i64, ptr @poll_ticks
  %next = add i64 %now, %ticks
  store atomic i64 %next, ptr @next_poll monotonic, align 8
  %code3 = call i32 %body(ptr %bufs, ptr %context)
  store ptr %outer, ptr @main_state
  store i64 %outer.writing, ptr @writing_since
  %left = load atomic i32, ptr @interrupted monotonic, align 4
  %seen = icmp ne i32 %code3, 0
  %code5 = select i1 %seen, i32 %code3, i32 %left
  store atomic i32 0, ptr @interrupted monotonic, align 4
  br label %back
other:
  %code2 = call i32 %body(ptr %bufs, ptr %context)
  br label %back
back:
  %code4 = phi i32 [%code5, %polled], [%code2, %other]
  %restore = call ptr @api_get(i64 19)
  call void %restore(ptr %state)
  ret i32 %code4
}

; Scratch memory: what the function keeps for itself, if no other thread has that now, or the pool's.
define internal ptr @take_scratch(ptr %context, i64 %size) nounwind {
entry:
  %own.at = getelementptr %Context, ptr %context, i64 0, i32 27
  %kept.at = load ptr, ptr %own.at
  %shared = icmp eq ptr %kept.at, null
  br i1 %shared, label %ask, label %look
look:
  %kept = atomicrmw xchg ptr %kept.at, i64 0 seq_cst
  %none = icmp eq i64 %kept, 0
  br i1 %none, label %ask, label %weigh
weigh:
  %memory = inttoptr i64 %kept to ptr
  %bytes.at = getelementptr i8, ptr %memory, i64 -56
  %bytes = load i64, ptr %bytes.at
  %with = add i64 %size, 64
  %fits = icmp ule i64 %with, %bytes
  br i1 %fits, label %done, label %small
small:
  call void @pool_free(ptr %memory)
  br label %ask
ask:
  %new = call ptr @patient_alloc(i64 %size)
  ret ptr %new
done:
  ret ptr %memory
}

define internal void @put_scratch(ptr %context, ptr %memory) nounwind {
entry:
  %own.at = getelementptr %Context, ptr %context, i64 0, i32 27
  %kept.at = load ptr, ptr %own.at
  %shared = icmp eq ptr %kept.at, null
  br i1 %shared, label %give, label %keep
give:
  call void @pool_free(ptr %memory)
  ret void
keep:
  %number = ptrtoint ptr %memory to i64
  %other = atomicrmw xchg ptr %kept.at, i64 %number seq_cst
  %none = icmp eq i64 %other, 0
  br i1 %none, label %done, label %twice
twice:                                        ; of another thread's call
  %second = inttoptr i64 %other to ptr
  call void @pool_free(ptr %second)
  br label %done
done:
  ret void
}

@change = global i64 -1                       ; the number of the last change by compiled code
@change_object = global ptr null

; A number above those of all records so far, which as long as no other was given is the last one;
; 0 where there is no memory for it.
define internal i64 @number_of_change() nounwind {
entry:
  %last = load i64, ptr @change
  %serials = call ptr @api_get(i64 25)
  %next.at = getelementptr i8, ptr %serials, i64 16
  %next = load i64, ptr %next.at
  %after = add i64 %last, 1
  %still = icmp eq i64 %next, %after
  br i1 %still, label %keep, label %advance
keep:
  ret i64 %last
advance:
  %step = call ptr @api_get(i64 24)
  %new = call ptr %step(ptr %serials)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %forget, label %replace
forget:
  %clear = call ptr @api_get(i64 12)
  call void %clear()
  ret i64 0
replace:
  %old = load ptr, ptr @change_object
  store ptr %new, ptr @change_object          ; owned by the variable
  store i64 %next, ptr @change
  call void @decref(ptr %old)                 ; Py_DecRef takes null
  ret i64 %next
}

; Number the change of every tensor that the body wrote, as `touch` in core/dispatch.py does, so that
; older records which need the value notice.  Where no counter was needed there is none.
define internal void @number_changes(ptr %context, ptr %args) nounwind {
entry:
  %count.at = getelementptr %Context, ptr %context, i64 0, i32 28
  %count = load i64, ptr %count.at
  %pure = icmp eq i64 %count, 0
  br i1 %pure, label %done, label %ask
ask:
  %number = call i64 @number_of_change()
  %last.at = getelementptr %Context, ptr %context, i64 0, i32 31
  %last = load i64, ptr %last.at
  %same = icmp eq i64 %number, %last
  %lacking = icmp eq i64 %number, 0
  %idle = or i1 %same, %lacking
  br i1 %idle, label %done, label %begin
begin:
  store i64 %number, ptr %last.at
  %object = load ptr, ptr @change_object
  %list.at = getelementptr %Context, ptr %context, i64 0, i32 29
  %list = load ptr, ptr %list.at
  %slot.at = getelementptr %Context, ptr %context, i64 0, i32 30
  %slot = load i64, ptr %slot.at
  %none = call ptr @api_get(i64 16)
  %ndarray = call ptr @api_get(i64 2)
  %put = call ptr @api_get(i64 26)
  br label %test
test:
  %i = phi i64 [0, %begin], [%i1, %next]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %done
look:
  %written = getelementptr %Written, ptr %list, i64 %i
  %state = load ptr, ptr %written
  %given = icmp eq ptr %state, null
  br i1 %given, label %argument, label %tensor
argument:                                     ; the next call may bring another
  store i64 0, ptr %last.at
  %index.at = getelementptr %Written, ptr %written, i64 0, i32 1
  %index = load i64, ptr %index.at
  %arg.at = getelementptr ptr, ptr %args, i64 %index
  %arg = load ptr, ptr %arg.at
  %type = call ptr @field(ptr %arg, i64 8)
  %plain = icmp eq ptr %type, %ndarray
  br i1 %plain, label %next, label %tensor
tensor:
  %owner = phi ptr [%state, %look], [%arg, %argument]
  %counter = call ptr @field(ptr %owner, i64 %slot)
  %empty = icmp eq ptr %counter, null
  %nothing = icmp eq ptr %counter, %none
  %unread = or i1 %empty, %nothing
  br i1 %unread, label %next, label %set
set:
  call void @incref(ptr %object)
  %ignored = call i32 %put(ptr %counter, i64 0, ptr %object) ; steals %object, also where it fails
  br label %next
next:
  %i1 = add i64 %i, 1
  br label %test
done:
  ret void
}

; Scratch memory, body, and the result or what the failure handler makes of a failure: the body's
; code, or -1 - i where there is no memory for output i, or, behind the last, for scratch; one
; further where the body has run without what its kernels work in.  1 stands for no object: Python
; would have decided otherwise, nothing was changed, and another function is to take the call.
define internal ptr @execute(ptr %context, ptr %args, ptr %bufs, ptr %made, ptr %room) nounwind {
entry:
  %fixed.at = getelementptr %Context, ptr %context, i64 0, i32 10
  %size.fixed = load i64, ptr %fixed.at
  %measure.at = getelementptr %Context, ptr %context, i64 0, i32 25
  %measure = load ptr, ptr %measure.at
  %known = icmp eq ptr %measure, null
  br i1 %known, label %outputs, label %vary
vary:
  %sizes = call ptr @sizes_of(ptr %context, ptr %bufs)
  %size.now = call i64 %measure(ptr %sizes, ptr %room)
  br label %outputs
outputs:
  %size = phi i64 [%size.fixed, %entry], [%size.now, %vary]
  %area = phi ptr [null, %entry], [%room, %vary]
  %first.at = getelementptr %Context, ptr %context, i64 0, i32 9
  %first = load i64, ptr %first.at
  %count.at = getelementptr %Context, ptr %context, i64 0, i32 5
  %count = load i64, ptr %count.at
  %outs = getelementptr ptr, ptr %bufs, i64 %first
  %got = call i64 @make_outputs(ptr %context, ptr %made, ptr %outs, ptr %area)
  %all = icmp eq i64 %got, %count
  br i1 %all, label %scratch, label %undo
scratch:
  %lacks = load atomic i64, ptr @scratch_lacks seq_cst, align 8
  %arena.at = getelementptr ptr, ptr %outs, i64 %count
  %none = icmp eq i64 %size, 0
  br i1 %none, label %bare, label %get
get:
  %arena = call ptr @take_scratch(ptr %context, i64 %size)
  store ptr %arena, ptr %arena.at
  %short = icmp eq ptr %arena, null
  br i1 %short, label %undo, label %work
work:
  %more = atomicrmw add ptr @pool_busy, i64 1 seq_cst
  %code1 = call i32 @run_body(ptr %context, ptr %bufs)
  %less = atomicrmw sub ptr @pool_busy, i64 1 seq_cst
  call void @put_scratch(ptr %context, ptr %arena)
  br label %judge
bare:
  %code2 = call i32 @run_body(ptr %context, ptr %bufs)
  br label %judge
judge:
  %code = phi i32 [%code1, %work], [%code2, %bare]
  %stopped = icmp eq i32 %code, {interrupted}
  br i1 %stopped, label %abandon, label %ended
abandon:                                      ; a handler of a signal has raised an error
  call void @release(ptr %made, i64 %count)
  ret ptr null
ended:
  %elsewhere = icmp eq i32 %code, {elsewhere}
  br i1 %elsewhere, label %leave, label %stayed
leave:
  call void @release(ptr %made, i64 %count)
  ret ptr inttoptr (i64 1 to ptr)
stayed:
  call void @number_changes(ptr %context, ptr %args)
  ; Kernels without memory to work in have done nothing; perhaps those of another thread.
  %lacks.now = load atomic i64, ptr @scratch_lacks seq_cst, align 8
  %enough = icmp eq i64 %lacks, %lacks.now
  br i1 %enough, label %believe, label %disbelieve
believe:
  %good = icmp eq i32 %code, 0
  br i1 %good, label %finish, label %failed
finish:
  %result = call ptr @result(ptr %context, ptr %made, i64 %count)
  ret ptr %result
failed:
  %wide = sext i32 %code to i64
  br label %tell
disbelieve:
  %torn = sub i64 -2, %count
  br label %tell
undo:
  %clear = call ptr @api_get(i64 12)
  call void %clear()
  %lack = xor i64 %got, -1
  br label %tell
tell:
  %number = phi i64 [%wide, %failed], [%lack, %undo], [%torn, %disbelieve]
  %held = phi i64 [%count, %failed], [%got, %undo], [%count, %disbelieve]
  call void @release(ptr %made, i64 %held)
  %box = call ptr @api_get(i64 20)
  %boxed = call ptr %box(i64 %number)
  %boxless = icmp eq ptr %boxed, null
  br i1 %boxless, label %no, label %report
report:
  %handler.at = getelementptr %Context, ptr %context, i64 0, i32 20
  %handler = load ptr, ptr %handler.at
  %call = call ptr @api_get(i64 21)
  %answer = call ptr %call(ptr %handler, ptr %boxed)
  call void @decref(ptr %boxed)
  ret ptr %answer
no:
  ret ptr null
}

; Bytes as they are told, or those of an argument's array.
define internal i64 @told_bytes(i64 %told, ptr %held) nounwind {
entry:
  %known = icmp sge i64 %told, 0
  br i1 %known, label %yes, label %ask
yes:
  ret i64 %told
ask:
  %i = xor i64 %told, -1
  %at = getelementptr ptr, ptr %held, i64 %i
  %array = load ptr, ptr %at
  %nd.at = getelementptr i8, ptr %array, i64 24
  %nd32 = load i32, ptr %nd.at
  %nd = zext i32 %nd32 to i64
  %dims = call ptr @field(ptr %array, i64 32)
  %descr = call ptr @field(ptr %array, i64 56)
  %each.at = getelementptr i8, ptr %descr, i64 40
  %each = load i64, ptr %each.at
  %bytes = call i64 @bytes_of(ptr %dims, i64 %nd, i64 %each)
  ret i64 %bytes
}

; Whether no argument overlaps a state of which one is written; states are where they were.
define internal i1 @apart_from_states(ptr %context, ptr %bufs, ptr %held) nounwind alwaysinline {
entry:
  %count.at = getelementptr %Context, ptr %context, i64 0, i32 35
  %count = load i64, ptr %count.at
  %list.at = getelementptr %Context, ptr %context, i64 0, i32 36
  %list = load ptr, ptr %list.at
  br label %test
test:
  %i = phi i64 [0, %entry], [%i1, %judge]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %yes
look:
  %apart = getelementptr %Apart, ptr %list, i64 %i
  %number = load i64, ptr %apart
  %told.at = getelementptr %Apart, ptr %apart, i64 0, i32 1
  %told = load i64, ptr %told.at
  %spans.at = getelementptr %Apart, ptr %apart, i64 0, i32 2
  %spans = load i64, ptr %spans.at
  %first.at = getelementptr %Apart, ptr %apart, i64 0, i32 3
  %first = load ptr, ptr %first.at
  %start.at = getelementptr i64, ptr %bufs, i64 %number
  %start = load i64, ptr %start.at
  %bytes = call i64 @told_bytes(i64 %told, ptr %held)
  %end = add i64 %start, %bytes
  br label %span
span:                                         ; the first that ends behind where it starts
  %low.k = phi i64 [0, %look], [%low.next, %halve]
  %rest = phi i64 [%spans, %look], [%rest.next, %halve]
  %open = icmp ne i64 %rest, 0
  br i1 %open, label %halve, label %judge
halve:
  %half = lshr i64 %rest, 1
  %middle = add i64 %low.k, %half
  %high.at = getelementptr %Span, ptr %first, i64 %middle, i32 1
  %high = load i64, ptr %high.at
  %before = icmp ule i64 %high, %start
  %past = add i64 %middle, 1
  %upper = sub i64 %rest, %half
  %others = sub i64 %upper, 1
  %low.next = select i1 %before, i64 %past, i64 %low.k
  %rest.next = select i1 %before, i64 %others, i64 %half
  br label %span
judge:
  %span.at = getelementptr %Span, ptr %first, i64 %low.k
  %low = load i64, ptr %span.at                 ; behind the last one there is one at the end
  %clear = icmp uge i64 %low, %end
  %i1 = add i64 %i, 1
  br i1 %clear, label %test, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; Whether no two buffers overlap of which one is written.
define internal i1 @apart(ptr %context, ptr %bufs, ptr %held) nounwind alwaysinline {
entry:
  %count.at = getelementptr %Context, ptr %context, i64 0, i32 21
  %count = load i64, ptr %count.at
  %pairs.at = getelementptr %Context, ptr %context, i64 0, i32 22
  %pairs = load ptr, ptr %pairs.at
  br label %test
test:
  %i = phi i64 [0, %entry], [%i1, %look]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %look, label %yes
look:
  %a.at = getelementptr %Pair, ptr %pairs, i64 %i, i32 0
  %a = load i64, ptr %a.at
  %a.size.at = getelementptr %Pair, ptr %pairs, i64 %i, i32 1
  %a.told = load i64, ptr %a.size.at
  %a.size = call i64 @told_bytes(i64 %a.told, ptr %held)
  %b.at = getelementptr %Pair, ptr %pairs, i64 %i, i32 2
  %b = load i64, ptr %b.at
  %b.size.at = getelementptr %Pair, ptr %pairs, i64 %i, i32 3
  %b.told = load i64, ptr %b.size.at
  %b.size = call i64 @told_bytes(i64 %b.told, ptr %held)
  %a.start.at = getelementptr i64, ptr %bufs, i64 %a
  %a.start = load i64, ptr %a.start.at
  %b.start.at = getelementptr i64, ptr %bufs, i64 %b
  %b.start = load i64, ptr %b.start.at
  %a.end = add i64 %a.start, %a.size
  %b.end = add i64 %b.start, %b.size
  %before = icmp ule i64 %a.end, %b.start
  %after = icmp ule i64 %b.end, %a.start
  %clear = or i1 %before, %after
  %i1 = add i64 %i, 1
  br i1 %clear, label %test, label %no
yes:
  %alone = call i1 @apart_from_states(ptr %context, ptr %bufs, ptr %held)
  ret i1 %alone
no:
  ret i1 false
}

; Where the table of a call was too long for the stack.
define internal void @put_table(ptr %table) nounwind alwaysinline {
entry:
  %none = icmp eq ptr %table, null
  br i1 %none, label %done, label %give
give:
  call void @scratch_give(ptr %table)
  br label %done
done:
  ret void
}

define ptr @entry(ptr %self, ptr %args, i64 %nargs, ptr %names) nounwind {
entry:
  %context = call ptr @field(ptr %self, i64 16)
  %wanted.at = getelementptr %Context, ptr %context, i64 0, i32 2
  %wanted = load i64, ptr %wanted.at
  %enough = icmp eq i64 %nargs, %wanted
  %positional = icmp eq ptr %names, null
  %complete = and i1 %enough, %positional
  br i1 %complete, label %prepare, label %slow
prepare:
  %arguments.at = getelementptr %Context, ptr %context, i64 0, i32 3
  %arguments = load ptr, ptr %arguments.at
  %nbufs.at = getelementptr %Context, ptr %context, i64 0, i32 7
  %nbufs = load i64, ptr %nbufs.at
  %nouts.at = getelementptr %Context, ptr %context, i64 0, i32 5
  %nouts = load i64, ptr %nouts.at
  %room1 = add i64 %nbufs, %nouts
  %room2 = shl i64 %nargs, 1
  %room3 = add i64 %room1, %room2
  %measured.at = getelementptr %Context, ptr %context, i64 0, i32 26
  %measured = load i64, ptr %measured.at
  %room = add i64 %room3, %measured
  %much = icmp ugt i64 %room, 2048
  br i1 %much, label %far, label %near
far:
  %bytes.all = shl i64 %room, 3
  %taken = call ptr @scratch_take(i64 %bytes.all)
  %lack = icmp eq ptr %taken, null
  br i1 %lack, label %near, label %lay
near:
  %kept = alloca ptr, i64 %room
  br label %lay
lay:
  %block = phi ptr [%taken, %far], [null, %near]
  %bufs = phi ptr [%taken, %far], [%kept, %near]
  %made = getelementptr ptr, ptr %bufs, i64 %nbufs
  %scalars = getelementptr ptr, ptr %made, i64 %nouts
  %held = getelementptr ptr, ptr %scalars, i64 %nargs
  %area = getelementptr ptr, ptr %held, i64 %nargs
  %template.at = getelementptr %Context, ptr %context, i64 0, i32 8
  %template = load ptr, ptr %template.at
  %bytes = shl i64 %nbufs, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %bufs, ptr %template, i64 %bytes, i1 false)
  br label %test
test:
  %i = phi i64 [0, %lay], [%i1, %look]
  %more = icmp ult i64 %i, %nargs
  br i1 %more, label %look, label %guards
look:
  %argument = getelementptr %Argument, ptr %arguments, i64 %i
  %object.at = getelementptr ptr, ptr %args, i64 %i
  %object = load ptr, ptr %object.at
  %scalar = getelementptr i64, ptr %scalars, i64 %i
  %held.at = getelementptr ptr, ptr %held, i64 %i
  %good = call i1 @take(ptr %context, ptr %argument, ptr %object, ptr %bufs, ptr %scalar, ptr %held.at)
  %i1 = add i64 %i, 1
  br i1 %good, label %test, label %unfit
guards:
  %same = call i1 @guarded(ptr %context)
  br i1 %same, label %memory, label %unfit
memory:
  %clear = call i1 @apart(ptr %context, ptr %bufs, ptr %held)
  br i1 %clear, label %go, label %unfit
go:
  %python.at = getelementptr %Context, ptr %context, i64 0, i32 12
  %python = load i64, ptr %python.at
  %shared = icmp ne i64 %python, 0
  %locks.at = getelementptr %Context, ptr %context, i64 0, i32 33
  %locks = load i64, ptr %locks.at
  %lock.at = getelementptr %Context, ptr %context, i64 0, i32 34
  %lock = load ptr, ptr %lock.at
  %took = call i32 @locks_take(i64 %locks, ptr %lock, i1 %shared)
  switch i32 %took, label %simply [ i32 1, label %carefully
                                    i32 -1, label %wait ]
simply:
  br i1 %shared, label %carefully, label %alone
alone:
  %fast = call ptr @execute(ptr %context, ptr %args, ptr %bufs, ptr %made, ptr %area)
  call void @put_table(ptr %block)
  %fast.left = icmp eq ptr %fast, inttoptr (i64 1 to ptr)
  br i1 %fast.left, label %slow, label %quickly
quickly:
  ret ptr %fast
carefully:
  ; Other code runs meanwhile and may drop the arrays out of their wrappers.
  call void @hold(ptr %held, i64 %nargs)
  %safe = call ptr @execute(ptr %context, ptr %args, ptr %bufs, ptr %made, ptr %area)
  call void @release(ptr %held, i64 %nargs)
  call void @put_table(ptr %block)
  %holds = icmp eq i32 %took, 1
  br i1 %holds, label %give, label %leave
give:
  call void @locks_give(i64 %locks, ptr %lock)
  br label %leave
leave:
  %safe.left = icmp eq ptr %safe, inttoptr (i64 1 to ptr)
  br i1 %safe.left, label %slow, label %safely
safely:
  ret ptr %safe
wait:
  call void @put_table(ptr %block)
  %waited = call i1 @locks_wait()
  br i1 %waited, label %again, label %stop
again:                                        ; all may be different now
  %later = musttail call ptr @entry(ptr %self, ptr %args, i64 %nargs, ptr %names)
  ret ptr %later
stop:
  ret ptr null
unfit:
  call void @put_table(ptr %block)
  br label %slow
slow:
  %handler.at = getelementptr %Context, ptr %context, i64 0, i32 19
  %handler = load ptr, ptr %handler.at
  %call = call ptr @api_get(i64 22)
  %answer = call ptr %call(ptr %handler, ptr %args, i64 %nargs, ptr %names)
  ret ptr %answer
}

@run_offset = global i64 0                     ; where instances hold the builtin that they run
@cleared_text = private constant [64 x i8] c"a compiled function was called after it was taken to pieces    \00"

; Calls of an instance go here (vectorcall.py): to the builtin that it holds, which lives until that returns.
define ptr @vectorcall(ptr %self, ptr %args, i64 %flagged, ptr %names) nounwind {
entry:
  %offset = load i64, ptr @run_offset
  %run = call ptr @field(ptr %self, i64 %offset)
  %none = icmp eq ptr %run, null
  br i1 %none, label %cleared, label %call
call:
  call void @incref(ptr %run)
  %definition = call ptr @field(ptr %run, i64 16)
  %function = call ptr @field(ptr %definition, i64 8)
  %context = call ptr @field(ptr %run, i64 24)
  %nargs = and i64 %flagged, 9223372036854775807 ; without PY_VECTORCALL_ARGUMENTS_OFFSET
  %result = call ptr %function(ptr %context, ptr %args, i64 %nargs, ptr %names)
  call void @decref(ptr %run)
  ret ptr %result
cleared:                                      ; by the collector, and a finalizer calls it
  %type = call ptr @api_get(i64 37)
  %set = call ptr @api_get(i64 4)
  call void %set(ptr %type, ptr @cleared_text)
  ret ptr null
}

; The builtin `empty(shape, dtype)`: exact tuple and dtype here, everything else in Python.
define ptr @empty(ptr %self, ptr %args, i64 %nargs, ptr %names) nounwind {
entry:
  %dims = alloca [64 x i64]
  %two = icmp eq i64 %nargs, 2
  %positional = icmp eq ptr %names, null
  %plain.call = and i1 %two, %positional
  br i1 %plain.call, label %types, label %slow
types:
  %shape = load ptr, ptr %args
  %descr.at = getelementptr ptr, ptr %args, i64 1
  %descr = load ptr, ptr %descr.at
  %tuple = call ptr @api_get(i64 23)
  %shape.type = call ptr @field(ptr %shape, i64 8)
  %subtype = call ptr @api_get(i64 6)
  %tuple.answer = call i32 %subtype(ptr %shape.type, ptr %tuple)
  %is.tuple = icmp ne i32 %tuple.answer, 0
  br i1 %is.tuple, label %dtype, label %slow
dtype:
  ; A dtype object of a plain number is an instance of a subtype of numpy.dtype with kind in "biufc".
  %dtype.base = call ptr @field(ptr %self, i64 16)
  %dtype.class = load ptr, ptr %dtype.base
  %descr.type = call ptr @field(ptr %descr, i64 8)
  %answer = call i32 %subtype(ptr %descr.type, ptr %dtype.class)
  %is.dtype = icmp ne i32 %answer, 0
  br i1 %is.dtype, label %number, label %slow
number:
  %num.at = getelementptr i8, ptr %descr, i64 28
  %num = load i32, ptr %num.at
  %plain1 = icmp ult i32 %num, 17
  %plain2 = icmp eq i32 %num, 23
  %plain = or i1 %plain1, %plain2
  br i1 %plain, label %rank, label %slow
rank:
  %size.at = getelementptr i8, ptr %descr, i64 40
  %each = load i64, ptr %size.at
  %nd.at = getelementptr i8, ptr %shape, i64 16
  %nd = load i64, ptr %nd.at
  %items = getelementptr i8, ptr %shape, i64 {items}
  %low = icmp ule i64 %nd, 64
  br i1 %low, label %test, label %slow
test:
  %i = phi i64 [0, %rank], [%i1, %multiply]
  %bytes = phi i64 [%each, %rank], [%product, %multiply]
  %more = icmp ult i64 %i, %nd
  br i1 %more, label %item, label %make
item:
  %item.at = getelementptr ptr, ptr %items, i64 %i
  %object = load ptr, ptr %item.at
  %dim.at = getelementptr i64, ptr %dims, i64 %i
  %ok = call i1 @number(i64 2, ptr %object, ptr %dim.at)
  br i1 %ok, label %sign, label %slow
sign:
  %dim = load i64, ptr %dim.at
  %negative = icmp slt i64 %dim, 0
  br i1 %negative, label %slow, label %multiply
multiply:
  %i1 = add i64 %i, 1
  %pair = call {i64, i1} @llvm.umul.with.overflow.i64(i64 %bytes, i64 %dim)
  %product = extractvalue {i64, i1} %pair, 0
  %over = extractvalue {i64, i1} %pair, 1
  br i1 %over, label %slow, label %test
make:
  %wide = trunc i64 %nd to i32
  %array = call ptr @new_array(ptr %descr, i32 %wide, ptr %dims, i64 %bytes, i64 {pooled})
  ret ptr %array
slow:
  %base = call ptr @field(ptr %self, i64 16)
  %handler.at = getelementptr ptr, ptr %base, i64 1
  %handler = load ptr, ptr %handler.at
  %call = call ptr @api_get(i64 22)
  %result = call ptr %call(ptr %handler, ptr %args, i64 %nargs, ptr %names)
  ret ptr %result
}
