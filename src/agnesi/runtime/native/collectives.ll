; Collectives between the processes of one machine, over memory that they share.
;
; Every process has a control block and two slots in the memory.  A step: write into the own slot,
; count the own word @posted up, wait until all have got as far, read the others' slots.  Steps take
; turns with the two slots: whoever writes a slot again has seen that all others have begun the step
; in between, and so are done with reading.  One wait per step is enough.
;
; The first step of each collective also compares what the processes are about to do, word by word,
; so that a program that differs between them is an error and not a mixture of their data.
;
; A group (64-bit words): {base} memory, {rank}, {size}, {slot} bytes of a slot, {slots} where they
; begin, {steps} so far, {calls} so far, {checker} called while waiting, {spins}, {mail} bytes of a
; letter, {mails} where they begin, {fresh}: whether the next step compares, {busy}, {mpi}: the table
; of an MPI library that does all of this instead (mpi.ll).
; For reductions beside the computation (overlap.ll): {serving}: whether a thread does them, {stop}:
; whether it is to end, {broken}: how the first failed, {spent} and {blocked}: nanoseconds that they
; took, and that the program waited for them; {begun} and {finished}: how many, each with how many
; wait for it behind; {jobs}: what is to be done.
; The checker looks at a process that is waited for; -1 says that processes differ, -2 - p
; that what process p sent does.  {waiter} is the same for the thread of the program, which waits for
; that of the group: {give.way} lets other threads of Python go on, {give.up} ends all.
; Byte 64 of the memory is not zero where the group was given up.  At byte 128 is the last collective
; that all are to finish by a function that waits without end (mpi.ll); -1: there will be no other.
; Results: 0 done; 1 no such group; 2 the processes differ; 3 another thread is in the group; else
; what the checker returned.

declare i32 @sched_yield()
declare i32 @usleep(i32)
declare i32 @clock_gettime(i32, ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.umax.i64(i64, i64)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)

@groups = global [256 x ptr] zeroinitializer, align 64

define internal i64 @word(ptr %g, i64 %i) nounwind alwaysinline {
  %at = getelementptr i64, ptr %g, i64 %i
  %v = load i64, ptr %at
  ret i64 %v
}

define internal void @set(ptr %g, i64 %i, i64 %v) nounwind alwaysinline {
  %at = getelementptr i64, ptr %g, i64 %i
  store i64 %v, ptr %at
  ret void
}

define internal i64 @least(i64 %a, i64 %b) nounwind alwaysinline {
  %less = icmp ult i64 %a, %b
  %m = select i1 %less, i64 %a, i64 %b
  ret i64 %m
}

; The control block of process %q: @posted; from byte 80 on the word that it waits for, how large that
; has to become, and whose it is; at byte 104 where it says what it does; from byte 512 on what it is
; about to do together with others, in turns; from byte 4096 on what it is about to send or receive.
define internal ptr @control(ptr %g, i64 %q) nounwind alwaysinline {
  %base = load ptr, ptr %g
  %skip = shl i64 %q, 13
  %far = add i64 %skip, 4096
  %at = getelementptr i8, ptr %base, i64 %far
  ret ptr %at
}

define internal ptr @slot_of(ptr %g, i64 %q, i64 %parity) nounwind {
  %base = load ptr, ptr %g
  %slots = call i64 @word(ptr %g, i64 {slots})
  %bytes = call i64 @word(ptr %g, i64 {slot})
  %two = shl i64 %q, 1
  %i = add i64 %two, %parity
  %skip = mul i64 %i, %bytes
  %far = add i64 %skip, %slots
  %at = getelementptr i8, ptr %base, i64 %far
  ret ptr %at
}

; Which slots the next step uses.
define internal i64 @parity(ptr %g) nounwind {
  %steps = call i64 @word(ptr %g, i64 {steps})
  %next = add i64 %steps, 1
  %p = and i64 %next, 1
  ret i64 %p
}

; Wait until the word is at least %least: pauses, then the core given away, then sleep until the word
; changes, a twentieth of a second at most: then the checker looks whether %peer is still there.
; Behind each word that is waited for stands how many sleep until it changes.
define internal i32 @await(ptr %g, ptr %word, i64 %least, i64 %peer) nounwind {
entry:
  %spins = call i64 @word(ptr %g, i64 {spins})
  %yields = add i64 %spins, {yields}
  %sleepers = getelementptr i8, ptr %word, i64 8
  br label %look
look:
  %turn = phi i64 [0, %entry], [%next, %spin], [%next, %give], [%yields, %consult]
  %now = load atomic i64, ptr %word acquire, align 8
  %there = icmp sge i64 %now, %least
  br i1 %there, label %done, label %tired
tired:
  %next = add i64 %turn, 1
  %fresh = icmp ult i64 %turn, %spins
  br i1 %fresh, label %spin, label %tired2
spin:
  call void @relax()
  br label %look
tired2:
  %awake = icmp ult i64 %turn, %yields
  br i1 %awake, label %give, label %sleep
give:
  %ignored = call i32 @sched_yield()
  br label %look
sleep:
  %before = atomicrmw add ptr %sleepers, i64 1 seq_cst
  %seen = load atomic i64, ptr %word seq_cst, align 8
  %late = icmp slt i64 %seen, %least
  br i1 %late, label %doze, label %wake
doze:
  %low = trunc i64 %seen to i32
  call void @doze(ptr %word, i32 %low)
  br label %wake
wake:
  %after = atomicrmw sub ptr %sleepers, i64 1 seq_cst
  %then = load atomic i64, ptr %word acquire, align 8
  %come = icmp sge i64 %then, %least
  br i1 %come, label %done, label %ask
ask:
  %own = icmp eq i64 %peer, {give.way}
  br i1 %own, label %consult, label %note
note:
  call void @note(ptr %g, ptr %word, i64 %least, i64 %peer)
  br label %consult
consult:
  %which = select i1 %own, i64 {waiter}, i64 {checker}
  %checker = call i64 @word(ptr %g, i64 %which)
  %function = inttoptr i64 %checker to ptr
  %told = call i32 %function(i64 %peer)
  %bad = icmp ne i32 %told, 0
  br i1 %bad, label %failed, label %look
failed:
  ret i32 %told
done:
  ret i32 0
}

; Let others know what this process waits for, which is true until the word is as large.
define internal void @note(ptr %g, ptr %word, i64 %least, i64 %peer) nounwind {
  %base = call i64 @word(ptr %g, i64 0)
  %address = ptrtoint ptr %word to i64
  %far = sub i64 %address, %base
  %rank = call i64 @word(ptr %g, i64 {rank})
  %block = call ptr @control(ptr %g, i64 %rank)
  %field = getelementptr i8, ptr %block, i64 80
  store atomic i64 0, ptr %field seq_cst, align 8
  call void @set(ptr %block, i64 11, i64 %least)
  call void @set(ptr %block, i64 12, i64 %peer)
  store atomic i64 %far, ptr %field seq_cst, align 8
  ret void
}

; Where in the own control block it says what this process does now; zero: nowhere yet.
define internal void @now(ptr %g, i64 %step) nounwind {
  %rank = call i64 @word(ptr %g, i64 {rank})
  %block = call ptr @control(ptr %g, i64 %rank)
  call void @set(ptr %block, i64 13, i64 %step)
  ret void
}

; The same, for collective number %number.
define internal void @now_in(ptr %g, i64 %number) nounwind {
  %odd = and i64 %number, 1
  %skip = mul i64 %odd, 1536
  %far = add i64 %skip, 512
  call void @now(ptr %g, i64 %far)
  ret void
}

; Set a word for which others wait.
define internal void @publish(ptr %word, i64 %value) nounwind {
entry:
  store atomic i64 %value, ptr %word seq_cst, align 8
  %sleepers = getelementptr i8, ptr %word, i64 8
  %some = load atomic i64, ptr %sleepers seq_cst, align 8
  %any = icmp ne i64 %some, 0
  br i1 %any, label %wake, label %done
wake:
  call void @rouse(ptr %word)
  br label %done
done:
  ret void
}

; Write down what this process is about to do.
define internal void @sign(ptr %block, i64 %number, i64 %kind, i64 %code, i64 %root, ptr %sizes, i64 %ndim, ptr %text) nounwind {
entry:
  call void @set(ptr %block, i64 0, i64 %number)
  call void @set(ptr %block, i64 1, i64 %kind)
  call void @set(ptr %block, i64 2, i64 %code)
  call void @set(ptr %block, i64 3, i64 %root)
  call void @set(ptr %block, i64 4, i64 %ndim)
  %words = getelementptr i64, ptr %block, i64 130
  call void @llvm.memcpy.p0.p0.i64(ptr %words, ptr %text, i64 {text}, i1 false)
  br label %head
head:
  %i = phi i64 [0, %entry], [%i1, %body]
  %more = icmp ult i64 %i, %ndim
  br i1 %more, label %body, label %done
body:
  %n = call i64 @word(ptr %sizes, i64 %i)
  %at = add i64 %i, 5
  call void @set(ptr %block, i64 %at, i64 %n)
  %i1 = add i64 %i, 1
  br label %head
done:
  ret void
}

; Whether two processes are about to do the same.
define internal i1 @agree(ptr %a, ptr %b) nounwind {
entry:
  %ndim = call i64 @word(ptr %a, i64 4)
  %all = add i64 %ndim, 5
  br label %head
head:
  %i = phi i64 [0, %entry], [%i1, %body]
  %more = icmp ult i64 %i, %all
  br i1 %more, label %body, label %same
body:
  %x = call i64 @word(ptr %a, i64 %i)
  %y = call i64 @word(ptr %b, i64 %i)
  %i1 = add i64 %i, 1
  %equal = icmp eq i64 %x, %y
  br i1 %equal, label %head, label %differ
same:
  ret i1 true
differ:
  ret i1 false
}

; Where process %q says what collective number %number is.
define internal ptr @signature(ptr %g, i64 %q, i64 %number) nounwind {
  %block = call ptr @control(ptr %g, i64 %q)
  %odd = and i64 %number, 1
  %skip = mul i64 %odd, 1536
  %far = add i64 %skip, 512
  %at = getelementptr i8, ptr %block, i64 %far
  ret ptr %at
}

; Post the own slot and wait for all others.
define internal i32 @step(ptr %g) nounwind {
entry:
  %before = call i64 @word(ptr %g, i64 {steps})
  %steps = add i64 %before, 1
  call void @set(ptr %g, i64 {steps}, i64 %steps)
  %rank = call i64 @word(ptr %g, i64 {rank})
  %size = call i64 @word(ptr %g, i64 {size})
  %mine = call ptr @control(ptr %g, i64 %rank)
  call void @publish(ptr %mine, i64 %steps)
  %fresh = call i64 @word(ptr %g, i64 {fresh})
  call void @set(ptr %g, i64 {fresh}, i64 0)
  br label %head
head:
  %q = phi i64 [0, %entry], [%q1, %next]
  %more = icmp ult i64 %q, %size
  br i1 %more, label %body, label %compare
body:
  %own = icmp eq i64 %q, %rank
  br i1 %own, label %next, label %wait
wait:
  %theirs = call ptr @control(ptr %g, i64 %q)
  %told = call i32 @await(ptr %g, ptr %theirs, i64 %steps, i64 %q)
  %bad = icmp ne i32 %told, 0
  br i1 %bad, label %failed, label %next
next:
  %q1 = add i64 %q, 1
  br label %head
failed:
  ret i32 %told
compare:
  %wanted = icmp ne i64 %fresh, 0
  br i1 %wanted, label %each, label %done
each:
  %r = phi i64 [0, %compare], [%r1, %look]
  %left = icmp ult i64 %r, %size
  br i1 %left, label %look, label %done
look:
  %number = call i64 @word(ptr %g, i64 {calls})
  %a = call ptr @signature(ptr %g, i64 %rank, i64 %number)
  %b = call ptr @signature(ptr %g, i64 %r, i64 %number)
  %same = call i1 @agree(ptr %a, ptr %b)
  %r1 = add i64 %r, 1
  br i1 %same, label %each, label %differ
differ:
  ret i32 2
done:
  ret i32 0
}

; From each other process: %length bytes of its slot, from byte %from on.
define internal void @take(ptr %g, i64 %parity, i64 %from, ptr %to, i64 %stride, i64 %length) nounwind {
entry:
  %rank = call i64 @word(ptr %g, i64 {rank})
  %size = call i64 @word(ptr %g, i64 {size})
  br label %head
head:
  %q = phi i64 [0, %entry], [%q1, %next]
  %more = icmp ult i64 %q, %size
  br i1 %more, label %body, label %done
body:
  %own = icmp eq i64 %q, %rank
  br i1 %own, label %next, label %copy
copy:
  %slot = call ptr @slot_of(ptr %g, i64 %q, i64 %parity)
  %source = getelementptr i8, ptr %slot, i64 %from
  %skip = mul i64 %q, %stride
  %target = getelementptr i8, ptr %to, i64 %skip
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 %length, i1 false)
  br label %next
next:
  %q1 = add i64 %q, 1
  br label %head
done:
  ret void
}

; For each other process: %length bytes into the own slot, one behind the other.
define internal void @give(ptr %g, i64 %parity, ptr %from, i64 %stride, i64 %length) nounwind {
entry:
  %rank = call i64 @word(ptr %g, i64 {rank})
  %size = call i64 @word(ptr %g, i64 {size})
  %slot = call ptr @slot_of(ptr %g, i64 %rank, i64 %parity)
  br label %head
head:
  %q = phi i64 [0, %entry], [%q1, %next]
  %more = icmp ult i64 %q, %size
  br i1 %more, label %body, label %done
body:
  %own = icmp eq i64 %q, %rank
  br i1 %own, label %next, label %copy
copy:
  %skip = mul i64 %q, %stride
  %source = getelementptr i8, ptr %from, i64 %skip
  %far = mul i64 %q, %length
  %target = getelementptr i8, ptr %slot, i64 %far
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 %length, i1 false)
  br label %next
next:
  %q1 = add i64 %q, 1
  br label %head
done:
  ret void
}

; Combine the own values with those in the others' slots, in the order of the processes.  Where
; %second is not null, they go there too, and past the caches to %to.
define internal void @merge(ptr %g, i64 %how, i64 %parity, i64 %from, ptr %own, ptr %to, ptr %second, i64 %count) nounwind {
entry:
  %table = alloca [256 x ptr], align 16
  %rank = call i64 @word(ptr %g, i64 {rank})
  %size = call i64 @word(ptr %g, i64 {size})
  br label %head
head:
  %q = phi i64 [0, %entry], [%q1, %body]
  %more = icmp ult i64 %q, %size
  br i1 %more, label %body, label %run
body:
  %slot = call ptr @slot_of(ptr %g, i64 %q, i64 %parity)
  %theirs = getelementptr i8, ptr %slot, i64 %from
  %mine = icmp eq i64 %q, %rank
  %source = select i1 %mine, ptr %own, ptr %theirs
  %at = getelementptr ptr, ptr %table, i64 %q
  store ptr %source, ptr %at
  %q1 = add i64 %q, 1
  br label %head
run:
  %one = icmp eq ptr %second, null
  br i1 %one, label %once, label %twice
once:
  %entry.at = getelementptr ptr, ptr @combines, i64 %how
  %function = load ptr, ptr %entry.at
  call void %function(ptr %to, ptr %table, i64 %size, i64 %count)
  ret void
twice:
  %entry.at2 = getelementptr ptr, ptr @streams, i64 %how
  %function2 = load ptr, ptr %entry.at2
  %ahead = getelementptr i8, ptr %own, i64 {ahead}
  call void %function2(ptr %to, ptr %second, ptr %ahead, ptr %table, i64 %size, i64 %count)
  ret void
}

; Bytes of a process's part in a piece of %n bytes: a multiple of lines of the cache.
define internal i64 @share(ptr %g, i64 %n) nounwind {
  %size = call i64 @word(ptr %g, i64 {size})
  %up = add i64 %n, %size
  %up1 = sub i64 %up, 1
  %share = udiv i64 %up1, %size
  %share1 = add i64 %share, 63
  %even = and i64 %share1, -64
  ret i64 %even
}

; Where byte %at of the part of process %q is in a piece of %n bytes; its end, if there are fewer.
define internal i64 @within(i64 %n, i64 %share, i64 %q, i64 %at) nounwind alwaysinline {
  %skip = mul i64 %share, %q
  %inside = call i64 @least(i64 %at, i64 %share)
  %far = add i64 %skip, %inside
  %b = call i64 @least(i64 %far, i64 %n)
  ret i64 %b
}

; Bytes %lo to %hi of the parts of a piece that other processes reduce (%out false), or have reduced
; (%out true); past the caches where %streaming.
define internal void @parts(ptr %g, i64 %parity, ptr %piece, i64 %n, i64 %share, i64 %lo, i64 %hi, i1 %out, i1 %streaming) nounwind {
entry:
  %rank = call i64 @word(ptr %g, i64 {rank})
  %size = call i64 @word(ptr %g, i64 {size})
  %bytes = call i64 @word(ptr %g, i64 {slot})
  %half = lshr i64 %bytes, 1
  br label %head
head:
  %q = phi i64 [0, %entry], [%q1, %next]
  %more = icmp ult i64 %q, %size
  br i1 %more, label %body, label %done
body:
  %q1 = add i64 %q, 1
  %own = icmp eq i64 %q, %rank
  br i1 %own, label %next, label %copy
copy:
  %begin = call i64 @within(i64 %n, i64 %share, i64 %q, i64 %lo)
  %end = call i64 @within(i64 %n, i64 %share, i64 %q, i64 %hi)
  %length = sub i64 %end, %begin
  %private = getelementptr i8, ptr %piece, i64 %begin
  %whose = select i1 %out, i64 %q, i64 %rank
  %slot = call ptr @slot_of(ptr %g, i64 %whose, i64 %parity)
  br i1 %out, label %fetch, label %bring
fetch:
  %far = add i64 %half, %begin
  %source = getelementptr i8, ptr %slot, i64 %far
  br i1 %streaming, label %past, label %through
past:
  call void @stream(ptr %private, ptr %source, i64 %length)
  br label %next
through:
  call void @llvm.memcpy.p0.p0.i64(ptr %private, ptr %source, i64 %length, i1 false)
  br label %next
bring:
  %target = getelementptr i8, ptr %slot, i64 %begin
  br i1 %streaming, label %once, label %again
once:
  call void @draw(ptr %target, ptr %private, i64 %length)
  br label %next
again:
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %private, i64 %length, i1 false)
  br label %next
next:
  br label %head
done:
  ret void
}

; Bytes %lo to %hi of the own part of a piece: the reduction, which goes to the result and, for the
; others, into the slot of the next step.
define internal void @own_part(ptr %g, i64 %how, i64 %item, i64 %parity, ptr %in, ptr %out, i64 %n, i64 %share, i64 %lo, i64 %hi, i1 %streaming) nounwind {
entry:
  %rank = call i64 @word(ptr %g, i64 {rank})
  %begin = call i64 @within(i64 %n, i64 %share, i64 %rank, i64 %lo)
  %end = call i64 @within(i64 %n, i64 %share, i64 %rank, i64 %hi)
  %length = sub i64 %end, %begin
  %count = udiv i64 %length, %item
  %from = getelementptr i8, ptr %in, i64 %begin
  %to = getelementptr i8, ptr %out, i64 %begin
  %bytes = call i64 @word(ptr %g, i64 {slot})
  %half = lshr i64 %bytes, 1
  %other = xor i64 %parity, 1
  %next.slot = call ptr @slot_of(ptr %g, i64 %rank, i64 %other)
  %far = add i64 %half, %begin
  %target = getelementptr i8, ptr %next.slot, i64 %far
  br i1 %streaming, label %both, label %copied
both:
  call void @merge(ptr %g, i64 %how, i64 %parity, i64 %begin, ptr %from, ptr %to, ptr %target, i64 %count)
  ret void
copied:
  call void @merge(ptr %g, i64 %how, i64 %parity, i64 %begin, ptr %from, ptr %to, ptr null, i64 %count)
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %to, i64 %length, i1 false)
  ret void
}

; Bytes of piece number %k, if there is one.
define internal i64 @piece_bytes(i64 %k, i64 %piece, i64 %bytes) nounwind alwaysinline {
  %lo = mul i64 %k, %piece
  %there = icmp ult i64 %lo, %bytes
  %rest = sub i64 %bytes, %lo
  %n = call i64 @least(i64 %rest, i64 %piece)
  %found = select i1 %there, i64 %n, i64 0
  ret i64 %found
}

; Between two steps: give the others what they reduce of piece k + 1, reduce the own part of piece k,
; take what they have reduced of piece k - 1.  Past the caches a little of each in turn: memory is
; read and written while lines come from another core.
define internal void @turn(ptr %g, i64 %how, i64 %item, i64 %parity, ptr %in, ptr %out, i64 %k, i64 %piece, i64 %bytes, i1 %streaming) nounwind {
entry:
  %k0 = sub i64 %k, 1
  %k2 = add i64 %k, 1
  %n0 = call i64 @piece_bytes(i64 %k0, i64 %piece, i64 %bytes)
  %n1 = call i64 @piece_bytes(i64 %k, i64 %piece, i64 %bytes)
  %n2 = call i64 @piece_bytes(i64 %k2, i64 %piece, i64 %bytes)
  %share0 = call i64 @share(ptr %g, i64 %n0)
  %share1 = call i64 @share(ptr %g, i64 %n1)
  %share2 = call i64 @share(ptr %g, i64 %n2)
  %lo0 = mul i64 %k0, %piece
  %lo1 = mul i64 %k, %piece
  %lo2 = mul i64 %k2, %piece
  %out0 = getelementptr i8, ptr %out, i64 %lo0
  %out1 = getelementptr i8, ptr %out, i64 %lo1
  %in1 = getelementptr i8, ptr %in, i64 %lo1
  %in2 = getelementptr i8, ptr %in, i64 %lo2
  %other = xor i64 %parity, 1
  %longer = call i64 @llvm.umax.i64(i64 %share0, i64 %share1)
  %longest = call i64 @llvm.umax.i64(i64 %longer, i64 %share2)
  %chunk = select i1 %streaming, i64 {chunk}, i64 %longest
  br label %head
head:
  %lo = phi i64 [0, %entry], [%hi, %body]
  %hi = add i64 %lo, %chunk
  %more = icmp ult i64 %lo, %longest
  br i1 %more, label %body, label %done
body:
  call void @parts(ptr %g, i64 %other, ptr %in2, i64 %n2, i64 %share2, i64 %lo, i64 %hi, i1 false, i1 %streaming)
  call void @own_part(ptr %g, i64 %how, i64 %item, i64 %parity, ptr %in1, ptr %out1, i64 %n1, i64 %share1, i64 %lo, i64 %hi, i1 %streaming)
  call void @parts(ptr %g, i64 %parity, ptr %out0, i64 %n0, i64 %share0, i64 %lo, i64 %hi, i1 true, i1 %streaming)
  br label %head
done:
  ret void
}

define internal i32 @all_reduce(ptr %g, i64 %how, i64 %item, ptr %in, ptr %out, i64 %bytes) nounwind {
entry:
  %slot = call i64 @word(ptr %g, i64 {slot})
  %piece = lshr i64 %slot, 1
  %p = call i64 @parity(ptr %g)
  %few = icmp ule i64 %bytes, %piece
  br i1 %few, label %small, label %large
small:
  %rank = call i64 @word(ptr %g, i64 {rank})
  %mine = call ptr @slot_of(ptr %g, i64 %rank, i64 %p)
  call void @llvm.memcpy.p0.p0.i64(ptr %mine, ptr %in, i64 %bytes, i1 false)
  %told = call i32 @step(ptr %g)
  %bad = icmp ne i32 %told, 0
  br i1 %bad, label %failed, label %finish
finish:
  %count = udiv i64 %bytes, %item
  call void @merge(ptr %g, i64 %how, i64 %p, i64 0, ptr %in, ptr %out, ptr null, i64 %count)
  ret i32 0
failed:
  ret i32 %told
large:
  ; What is larger than the caches goes past them, which saves reading the memory before it is written.
  %huge = icmp uge i64 %bytes, {stream}
  %address = ptrtoint ptr %out to i64
  %odd = and i64 %address, 63
  %even = icmp eq i64 %odd, 0
  %streaming = and i1 %huge, %even
  %n = call i64 @piece_bytes(i64 0, i64 %piece, i64 %bytes)
  %share = call i64 @share(ptr %g, i64 %n)
  call void @parts(ptr %g, i64 %p, ptr %in, i64 %n, i64 %share, i64 0, i64 %share, i1 false, i1 %streaming)
  br label %pieces
pieces:
  ; One turn for each piece, and one more in which the last one's results are taken.
  %k = phi i64 [0, %large], [%k1, %turn]
  %q = call i64 @parity(ptr %g)
  %said = call i32 @step(ptr %g)
  %wrong = icmp ne i32 %said, 0
  br i1 %wrong, label %fail, label %turn
turn:
  call void @turn(ptr %g, i64 %how, i64 %item, i64 %q, ptr %in, ptr %out, i64 %k, i64 %piece, i64 %bytes, i1 %streaming)
  %k1 = add i64 %k, 1
  %left = mul i64 %k, %piece
  %there = icmp ult i64 %left, %bytes
  br i1 %there, label %pieces, label %done
fail:
  ret i32 %said
done:
  fence seq_cst ; what went past the caches is there before anybody is told
  ret i32 0
}

define internal i32 @all_gather(ptr %g, ptr %in, ptr %out, i64 %bytes) nounwind {
entry:
  %slot = call i64 @word(ptr %g, i64 {slot})
  %rank = call i64 @word(ptr %g, i64 {rank})
  %skip = mul i64 %rank, %bytes
  %mine = getelementptr i8, ptr %out, i64 %skip
  call void @llvm.memcpy.p0.p0.i64(ptr %mine, ptr %in, i64 %bytes, i1 false)
  br label %turn
turn:
  %lo = phi i64 [0, %entry], [%lo1, %take]
  %rest = sub i64 %bytes, %lo
  %n = call i64 @least(i64 %rest, i64 %slot)
  %p = call i64 @parity(ptr %g)
  %own = call ptr @slot_of(ptr %g, i64 %rank, i64 %p)
  %source = getelementptr i8, ptr %in, i64 %lo
  call void @llvm.memcpy.p0.p0.i64(ptr %own, ptr %source, i64 %n, i1 false)
  %told = call i32 @step(ptr %g)
  %bad = icmp ne i32 %told, 0
  br i1 %bad, label %end, label %take
take:
  %target = getelementptr i8, ptr %out, i64 %lo
  call void @take(ptr %g, i64 %p, i64 0, ptr %target, i64 %bytes, i64 %n)
  %lo1 = add i64 %lo, %n
  %more = icmp ult i64 %lo1, %bytes
  br i1 %more, label %turn, label %end
end:
  ret i32 %told
}

; Each process has a row of %bytes for each; %how is -1 for all_to_all.
define internal i32 @exchange(ptr %g, i64 %how, i64 %item, ptr %in, ptr %out, i64 %bytes) nounwind {
entry:
  %slot = call i64 @word(ptr %g, i64 {slot})
  %rank = call i64 @word(ptr %g, i64 {rank})
  %size = call i64 @word(ptr %g, i64 {size})
  %share = udiv i64 %slot, %size
  %room = and i64 %share, -64
  %skip = mul i64 %rank, %bytes
  %mine = getelementptr i8, ptr %in, i64 %skip
  %moving = icmp eq i64 %how, -1
  br label %turn
turn:
  %lo = phi i64 [0, %entry], [%lo1, %next]
  %rest = sub i64 %bytes, %lo
  %n = call i64 @least(i64 %rest, i64 %room)
  %p = call i64 @parity(ptr %g)
  %source = getelementptr i8, ptr %in, i64 %lo
  call void @give(ptr %g, i64 %p, ptr %source, i64 %bytes, i64 %n)
  %told = call i32 @step(ptr %g)
  %bad = icmp ne i32 %told, 0
  br i1 %bad, label %end, label %read
read:
  %from = mul i64 %rank, %n
  %own = getelementptr i8, ptr %mine, i64 %lo
  %to = getelementptr i8, ptr %out, i64 %lo
  br i1 %moving, label %move, label %reduce
move:
  call void @take(ptr %g, i64 %p, i64 %from, ptr %to, i64 %bytes, i64 %n)
  %row = getelementptr i8, ptr %to, i64 %skip
  call void @llvm.memcpy.p0.p0.i64(ptr %row, ptr %own, i64 %n, i1 false)
  br label %next
reduce:
  %count = udiv i64 %n, %item
  call void @merge(ptr %g, i64 %how, i64 %p, i64 %from, ptr %own, ptr %to, ptr null, i64 %count)
  br label %next
next:
  %lo1 = add i64 %lo, %n
  %more = icmp ult i64 %lo1, %bytes
  br i1 %more, label %turn, label %end
end:
  ret i32 %told
}

define internal i32 @broadcast(ptr %g, i64 %root, ptr %in, ptr %out, i64 %bytes) nounwind {
entry:
  %slot = call i64 @word(ptr %g, i64 {slot})
  %rank = call i64 @word(ptr %g, i64 {rank})
  %giving = icmp eq i64 %rank, %root
  br label %turn
turn:
  %lo = phi i64 [0, %entry], [%lo1, %read]
  %rest = sub i64 %bytes, %lo
  %n = call i64 @least(i64 %rest, i64 %slot)
  %p = call i64 @parity(ptr %g)
  %shared = call ptr @slot_of(ptr %g, i64 %root, i64 %p)
  %input = getelementptr i8, ptr %in, i64 %lo
  br i1 %giving, label %write, label %go
write:
  call void @llvm.memcpy.p0.p0.i64(ptr %shared, ptr %input, i64 %n, i1 false)
  br label %go
go:
  %told = call i32 @step(ptr %g)
  %bad = icmp ne i32 %told, 0
  br i1 %bad, label %end, label %read
read:
  %source = select i1 %giving, ptr %input, ptr %shared
  %target = getelementptr i8, ptr %out, i64 %lo
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 %n, i1 false)
  %lo1 = add i64 %lo, %n
  %more = icmp ult i64 %lo1, %bytes
  br i1 %more, label %turn, label %end
end:
  ret i32 %told
}

; What is between two processes: words posted and taken, a line of the cache each, two letters.
define internal ptr @box(ptr %g, i64 %from, i64 %to) nounwind {
  %base = load ptr, ptr %g
  %size = call i64 @word(ptr %g, i64 {size})
  %mail = call i64 @word(ptr %g, i64 {mail})
  %mails = call i64 @word(ptr %g, i64 {mails})
  %row = mul i64 %from, %size
  %i = add i64 %row, %to
  %letter = add i64 %mail, 2048
  %both = shl i64 %letter, 1
  %room = add i64 %both, 128
  %skip = mul i64 %i, %room
  %far = add i64 %skip, %mails
  %at = getelementptr i8, ptr %base, i64 %far
  ret ptr %at
}

define internal ptr @letter(ptr %g, ptr %box, i64 %number) nounwind {
  %mail = call i64 @word(ptr %g, i64 {mail})
  %room = add i64 %mail, 2048
  %odd = and i64 %number, 1
  %skip = mul i64 %odd, %room
  %far = add i64 %skip, 128
  %at = getelementptr i8, ptr %box, i64 %far
  ret ptr %at
}

define internal i32 @send(ptr %g, i64 %kind, i64 %code, i64 %peer, ptr %in, i64 %bytes, ptr %sizes, i64 %ndim, ptr %text) nounwind {
entry:
  %rank = call i64 @word(ptr %g, i64 {rank})
  %mail = call i64 @word(ptr %g, i64 {mail})
  %box = call ptr @box(ptr %g, i64 %rank, i64 %peer)
  %taken = getelementptr i8, ptr %box, i64 64
  %control = call ptr @control(ptr %g, i64 %rank)
  %mine = getelementptr i8, ptr %control, i64 4096
  call void @sign(ptr %mine, i64 0, i64 %kind, i64 %code, i64 0, ptr %sizes, i64 %ndim, ptr %text)
  call void @now(ptr %g, i64 4096)
  br label %turn
turn:
  %lo = phi i64 [0, %entry], [%lo1, %write]
  %rest = sub i64 %bytes, %lo
  %n = call i64 @least(i64 %rest, i64 %mail)
  %number = load i64, ptr %box
  %free = sub i64 %number, 1
  %told = call i32 @await(ptr %g, ptr %taken, i64 %free, i64 %peer)
  %bad = icmp ne i32 %told, 0
  br i1 %bad, label %end, label %write
write:
  %letter = call ptr @letter(ptr %g, ptr %box, i64 %number)
  call void @sign(ptr %letter, i64 %number, i64 %kind, i64 %code, i64 0, ptr %sizes, i64 %ndim, ptr %text)
  %page = getelementptr i8, ptr %letter, i64 2048
  %source = getelementptr i8, ptr %in, i64 %lo
  call void @llvm.memcpy.p0.p0.i64(ptr %page, ptr %source, i64 %n, i1 false)
  %number1 = add i64 %number, 1
  call void @publish(ptr %box, i64 %number1)
  %lo1 = add i64 %lo, %n
  %more = icmp ult i64 %lo1, %bytes
  br i1 %more, label %turn, label %end
end:
  ret i32 %told
}

define internal i32 @receive(ptr %g, i64 %kind, i64 %code, i64 %peer, ptr %out, i64 %bytes, ptr %sizes, i64 %ndim, ptr %text) nounwind {
entry:
  %rank = call i64 @word(ptr %g, i64 {rank})
  %mail = call i64 @word(ptr %g, i64 {mail})
  %box = call ptr @box(ptr %g, i64 %peer, i64 %rank)
  %taken = getelementptr i8, ptr %box, i64 64
  %control = call ptr @control(ptr %g, i64 %rank)
  %mine = getelementptr i8, ptr %control, i64 4096
  br label %turn
turn:
  %lo = phi i64 [0, %entry], [%lo1, %read]
  %rest = sub i64 %bytes, %lo
  %n = call i64 @least(i64 %rest, i64 %mail)
  %number = load i64, ptr %taken
  %number1 = add i64 %number, 1
  call void @sign(ptr %mine, i64 %number, i64 %kind, i64 %code, i64 0, ptr %sizes, i64 %ndim, ptr %text)
  call void @now(ptr %g, i64 4096)
  %told = call i32 @await(ptr %g, ptr %box, i64 %number1, i64 %peer)
  %bad = icmp ne i32 %told, 0
  br i1 %bad, label %end, label %compare
compare:
  %letter = call ptr @letter(ptr %g, ptr %box, i64 %number)
  %same = call i1 @agree(ptr %mine, ptr %letter)
  br i1 %same, label %read, label %differ
differ:
  ret i32 2
read:
  %page = getelementptr i8, ptr %letter, i64 2048
  %target = getelementptr i8, ptr %out, i64 %lo
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %page, i64 %n, i1 false)
  call void @publish(ptr %taken, i64 %number1)
  %lo1 = add i64 %lo, %n
  %more = icmp ult i64 %lo1, %bytes
  br i1 %more, label %turn, label %end
end:
  ret i32 %told
}

; %bytes: of what a process gives, or of a row of it where there is one for each.  A reduction is for
; process %peer, and zero for others, or for all where %peer is negative.
define internal i32 @one(ptr %g, i64 %kind, i64 %how, i64 %code, i64 %peer, i64 %item, ptr %in, ptr %out, i64 %bytes, ptr %sizes, i64 %ndim, ptr %text) nounwind {
entry:
  %base = load ptr, ptr %g
  %given.up = getelementptr i8, ptr %base, i64 64
  %over = load atomic i64, ptr %given.up acquire, align 8
  %useless = icmp ne i64 %over, 0
  br i1 %useless, label %ask, label %go
ask:
  %checker = call i64 @word(ptr %g, i64 {checker})
  %asked = inttoptr i64 %checker to ptr
  %self = call i64 @word(ptr %g, i64 {rank})
  %why = call i32 %asked(i64 %self)
  ret i32 %why
go:
  %mpi = call i64 @word(ptr %g, i64 {mpi})
  %elsewhere = icmp ne i64 %mpi, 0
  br i1 %elsewhere, label %library, label %here
library:
  %table = inttoptr i64 %mpi to ptr
  %found = call i32 @through_mpi(ptr %g, ptr %table, i64 %kind, i64 %how, i64 %code, i64 %peer, i64 %item, ptr %in, ptr %out, i64 %bytes, ptr %sizes, i64 %ndim, ptr %text)
  ret i32 %found
here:
  %single = icmp uge i64 %kind, 6
  br i1 %single, label %letters, label %begin
letters:
  %sending = icmp eq i64 %kind, 6
  br i1 %sending, label %post, label %get
post:
  %posted = call i32 @send(ptr %g, i64 6, i64 %code, i64 %peer, ptr %in, i64 %bytes, ptr %sizes, i64 %ndim, ptr %text)
  ret i32 %posted
get:
  %got = call i32 @receive(ptr %g, i64 6, i64 %code, i64 %peer, ptr %out, i64 %bytes, ptr %sizes, i64 %ndim, ptr %text)
  ret i32 %got
begin:
  %before = call i64 @word(ptr %g, i64 {calls})
  %number = add i64 %before, 1
  call void @set(ptr %g, i64 {calls}, i64 %number)
  call void @set(ptr %g, i64 {fresh}, i64 1)
  %rank = call i64 @word(ptr %g, i64 {rank})
  %block = call ptr @signature(ptr %g, i64 %rank, i64 %number)
  call void @sign(ptr %block, i64 %number, i64 %kind, i64 %code, i64 %peer, ptr %sizes, i64 %ndim, ptr %text)
  call void @now_in(ptr %g, i64 %number)
  switch i64 %kind, label %barrier [
    i64 1, label %reduce
    i64 2, label %gather
    i64 3, label %scatter
    i64 4, label %spread
    i64 5, label %turn
  ]
barrier:
  %r0 = call i32 @step(ptr %g)
  ret i32 %r0
reduce:
  %r1 = call i32 @all_reduce(ptr %g, i64 %how, i64 %item, ptr %in, ptr %out, i64 %bytes)
  %for.all = icmp slt i64 %peer, 0
  %for.me = icmp eq i64 %peer, %rank
  %mine = or i1 %for.all, %for.me
  br i1 %mine, label %reduced, label %nothing
nothing:
  call void @llvm.memset.p0.i64(ptr %out, i8 0, i64 %bytes, i1 false)
  br label %reduced
reduced:
  ret i32 %r1
gather:
  %r2 = call i32 @all_gather(ptr %g, ptr %in, ptr %out, i64 %bytes)
  ret i32 %r2
scatter:
  %r3 = call i32 @exchange(ptr %g, i64 %how, i64 %item, ptr %in, ptr %out, i64 %bytes)
  ret i32 %r3
spread:
  %r4 = call i32 @broadcast(ptr %g, i64 %peer, ptr %in, ptr %out, i64 %bytes)
  ret i32 %r4
turn:
  %r5 = call i32 @exchange(ptr %g, i64 -1, i64 %item, ptr %in, ptr %out, i64 %bytes)
  ret i32 %r5
}

; Collectives of one group run one after the other, in the same order in all processes: threads that
; meet here would mix it.
define i32 @run(i64 %group, i64 %kind, i64 %how, i64 %code, i64 %peer, i64 %item, ptr %in, ptr %out, i64 %bytes, ptr %sizes, i64 %ndim, ptr %text) nounwind {
entry:
  %at = getelementptr ptr, ptr @groups, i64 %group
  %g = load ptr, ptr %at
  %none = icmp eq ptr %g, null
  br i1 %none, label %absent, label %lock
absent:
  ret i32 1
lock:
  %busy = getelementptr i64, ptr %g, i64 {busy}
  %before = atomicrmw xchg ptr %busy, i64 1 acquire
  %taken = icmp ne i64 %before, 0
  br i1 %taken, label %meet, label %do
meet:
  ret i32 3
do:
  %told = call i32 @one(ptr %g, i64 %kind, i64 %how, i64 %code, i64 %peer, i64 %item, ptr %in, ptr %out, i64 %bytes, ptr %sizes, i64 %ndim, ptr %text)
  %differ = icmp eq i32 %told, 2
  br i1 %differ, label %explain, label %end
explain:
  %checker = call i64 @word(ptr %g, i64 {checker})
  %function = inttoptr i64 %checker to ptr
  %letters = icmp uge i64 %kind, 6
  %other = sub i64 -2, %peer
  %about = select i1 %letters, i64 %other, i64 -1
  %ignored = call i32 %function(i64 %about)
  br label %end
end:
  store atomic i64 0, ptr %busy release, align 8
  ret i32 %told
}
