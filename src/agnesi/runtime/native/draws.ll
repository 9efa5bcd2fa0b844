; Random numbers that were made ahead (`Stock` of ops/random/draws_ahead.py): the next ones, with the state of
; the generator behind them.

; Whether Python's lock alone keeps others from a generator's state, and no thread waits to be notified of its
; change: 1, 0, or -1 for an error.
define internal i32 @draws_at_once(ptr %table) nounwind {
entry:
  %found = alloca ptr
  %none = call ptr @api_get(i64 16)
  %threads = load i64, ptr @lock_thread_count
  %quiet = icmp eq i64 %threads, 0
  br i1 %quiet, label %ask, label %no
ask:
  %get = call ptr @word_of(ptr %table, i64 {w:PyContextVar_Get})
  %variable = call ptr @word_of(ptr %table, i64 {w:MODE})
  %failed = call i32 %get(ptr %variable, ptr null, ptr %found)
  %bad = icmp slt i32 %failed, 0
  br i1 %bad, label %error, label %look
look:
  %mode = load ptr, ptr %found
  %watch = call ptr @slot(ptr %table, ptr %mode, i64 {w:Mode.watch})
  call void @decref(ptr %mode)
  %unwatched = icmp eq ptr %watch, %none
  br i1 %unwatched, label %attempts, label %no
attempts:                                     ; what an attempt draws is noted
  %drawn = call ptr @word_of(ptr %table, i64 {w:DRAWN})
  %failed.drawn = call i32 %get(ptr %drawn, ptr null, ptr %found)
  %bad.drawn = icmp slt i32 %failed.drawn, 0
  br i1 %bad.drawn, label %error, label %noted
noted:
  %notes = load ptr, ptr %found
  call void @decref(ptr %notes)
  %unnoted = icmp eq ptr %notes, %none
  br i1 %unnoted, label %yes, label %no
yes:
  ret i32 1
no:
  ret i32 0
error:
  ret i32 -1
}

; The array of a generator's state, borrowed from the tensor, if it is laid out as that of new ones is; else null.
define internal ptr @state_array(ptr %table, ptr %state) nounwind {
entry:
  %ndarray = call ptr @api_get(i64 2)
  %tensor = call ptr @word_of(ptr %table, i64 {w:Tensor})
  %kind = call ptr @field(ptr %state, i64 8)
  %is.tensor = icmp eq ptr %kind, %tensor
  br i1 %is.tensor, label %look, label %no
look:
  %array = call ptr @slot(ptr %table, ptr %state, i64 {w:Tensor.array})
  %type = call ptr @field(ptr %array, i64 8)
  %is.array = icmp eq ptr %type, %ndarray
  br i1 %is.array, label %sized, label %no
sized:
  %nd.at = getelementptr i8, ptr %array, i64 24
  %nd = load i32, ptr %nd.at
  %flags.at = getelementptr i8, ptr %array, i64 64
  %flags = load i32, ptr %flags.at
  %wanted = and i32 %flags, 1281              ; in rows, aligned, writeable
  %descr = call ptr @field(ptr %array, i64 56)
  %number = call i64 @number_of_dtype(ptr %descr)
  %flat = icmp eq i32 %nd, 1
  %lies = icmp eq i32 %wanted, 1281
  %words = icmp eq i64 %number, 6             ; uint32
  %and1 = and i1 %flat, %lies
  %and2 = and i1 %and1, %words
  br i1 %and2, label %counted, label %no
counted:
  %dims = call ptr @field(ptr %array, i64 32)
  %size = load i64, ptr %dims
  %four = icmp eq i64 %size, 4
  br i1 %four, label %yes, label %no
yes:
  ret ptr %array
no:
  ret ptr null
}

; The next numbers from the rows of a stock, whose first column is %column; owned, or null with an
; error set.  Rows of %count columns, the last of which may be left over in part.
define internal ptr @from_rows(ptr %rows, i64 %column, i64 %size, i64 %width) nounwind {
entry:
  %size.at = alloca i64
  store i64 %size, ptr %size.at
  %descr = call ptr @field(ptr %rows, i64 56)
  %bytes.at = getelementptr i8, ptr %descr, i64 40
  %each = load i64, ptr %bytes.at
  %dims = call ptr @field(ptr %rows, i64 32)
  %rows.count = load i64, ptr %dims
  %columns.at = getelementptr i64, ptr %dims, i64 1
  %columns = load i64, ptr %columns.at
  %bytes = mul i64 %size, %each
  %result = call ptr @new_array(ptr %descr, i32 1, ptr %size.at, i64 %bytes, i64 {pooled})
  %none = icmp eq ptr %result, null
  br i1 %none, label %no, label %begin
begin:
  %from = call ptr @field(ptr %rows, i64 16)
  %to = call ptr @field(ptr %result, i64 16)
  br label %row.test
row.test:
  %j = phi i64 [0, %begin], [%j1, %row]
  %position = phi i64 [0, %begin], [%position1, %row]
  %j1 = add i64 %j, 1
  %some.rows = icmp ult i64 %j, %rows.count
  %some.room = icmp ult i64 %position, %size
  %more = and i1 %some.rows, %some.room
  br i1 %more, label %row, label %left.test
row:
  %room = sub i64 %size, %position
  %take = call i64 @llvm.umin.i64(i64 %width, i64 %room)
  %begun = mul i64 %j, %columns
  %first = add i64 %begun, %column
  %first.bytes = mul i64 %first, %each
  %row.from = getelementptr i8, ptr %from, i64 %first.bytes
  %position.bytes = mul i64 %position, %each
  %row.to = getelementptr i8, ptr %to, i64 %position.bytes
  %take.bytes = mul i64 %take, %each
  call void @llvm.memcpy.p0.p0.i64(ptr %row.to, ptr %row.from, i64 %take.bytes, i1 false)
  %position1 = add i64 %position, %take
  br label %row.test
left.test:                                    ; one more of the first rows each
  %i = phi i64 [0, %row.test], [%i1, %left]
  %end = phi i64 [%position, %row.test], [%end1, %left]
  %i1 = add i64 %i, 1
  %end1 = add i64 %end, 1
  %missing = icmp ult i64 %end, %size
  br i1 %missing, label %left, label %done
left:
  %left.begun = mul i64 %i, %columns
  %left.column = add i64 %column, %width
  %left.first = add i64 %left.begun, %left.column
  %left.bytes = mul i64 %left.first, %each
  %left.from = getelementptr i8, ptr %from, i64 %left.bytes
  %end.bytes = mul i64 %end, %each
  %left.to = getelementptr i8, ptr %to, i64 %end.bytes
  call void @llvm.memcpy.p0.p0.i64(ptr %left.to, ptr %left.from, i64 %each, i1 false)
  br label %left.test
done:
  ret ptr %result
no:
  ret ptr null
}

; The numbers of a draw, owned; null with an error set.
define internal ptr @draw(ptr %table, ptr %stock) nounwind {
entry:
  %as.long = call ptr @api_get(i64 10)
  %none = call ptr @api_get(i64 16)
  %at.once = call i32 @draws_at_once(ptr %table)
  switch i32 %at.once, label %error [ i32 0, label %slow
                                      i32 1, label %held ]
held:
  %pair = call ptr @slot(ptr %table, ptr %stock, i64 {w:Stock.held})
  %empty = icmp eq ptr %pair, %none
  br i1 %empty, label %slow, label %generator
generator:
  %source = call ptr @slot(ptr %table, ptr %stock, i64 {w:Stock.generator})
  %state = call ptr @attribute(ptr %table, ptr %source, i64 {w:.state})
  %no.state = icmp eq ptr %state, null
  br i1 %no.state, label %error, label %look
look:
  %array = call ptr @state_array(ptr %table, ptr %state)
  %odd = icmp eq ptr %array, null
  br i1 %odd, label %drop, label %compare
compare:
  %start = call ptr @item(ptr %pair, i64 0)
  %rows = call ptr @item(ptr %pair, i64 1)
  %data = call ptr @field(ptr %array, i64 16)
  %start.data = call ptr @field(ptr %start, i64 16)
  %key = load i64, ptr %data, align 4
  %start.key = load i64, ptr %start.data, align 4
  %same = icmp eq i64 %key, %start.key
  %first.at = getelementptr i8, ptr %data, i64 8
  %start.first.at = getelementptr i8, ptr %start.data, i64 8
  %first = load i64, ptr %first.at, align 4
  %start.first = load i64, ptr %start.first.at, align 4
  %column = sub i64 %first, %start.first
  %count.object = call ptr @slot(ptr %table, ptr %stock, i64 {w:Stock.count})
  %count = call i64 %as.long(ptr %count.object)
  %dims = call ptr @field(ptr %rows, i64 32)
  %columns.at = getelementptr i64, ptr %dims, i64 1
  %columns = load i64, ptr %columns.at
  %last = sub i64 %columns, %count            ; negative where other draws of the stream take fewer
  %are.enough = icmp sge i64 %last, 0
  %are.there = icmp ule i64 %column, %last
  %inside = and i1 %are.enough, %are.there
  %hit = and i1 %same, %inside
  br i1 %hit, label %take, label %drop
take:
  %size.object = call ptr @slot(ptr %table, ptr %stock, i64 {w:Stock.size})
  %size = call i64 %as.long(ptr %size.object)
  %width.object = call ptr @slot(ptr %table, ptr %stock, i64 {w:Stock.width})
  %width = call i64 %as.long(ptr %width.object)
  %result = call ptr @from_rows(ptr %rows, i64 %column, i64 %size, i64 %width)
  %no.result = icmp eq ptr %result, null
  br i1 %no.result, label %fail, label %advance
advance:
  %behind = add i64 %first, %count
  store i64 %behind, ptr %first.at, align 4
  %numbered = call i1 @touch(ptr %table, ptr %state)
  br i1 %numbered, label %done, label %lose
done:
  call void @decref(ptr %state)
  ret ptr %result
lose:
  call void @decref(ptr %result)
  br label %fail
fail:
  call void @decref(ptr %state)
  br label %error
drop:
  call void @decref(ptr %state)
  br label %slow
slow:
  %call = call ptr @api_get(i64 22)
  %made = call ptr %call(ptr %stock, ptr null, i64 0, ptr null)
  ret ptr %made
error:
  ret ptr null
}
